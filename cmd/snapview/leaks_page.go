package main

import "github.com/snapview/snapview/viewer"

// leaksPage gathers the page of what leaks found.
func leaksPage(a *leaksAnswer) viewer.GrowthPage {
	p := viewer.GrowthPage{Name: leaksName(a.names), Version: currentVersion().Version, Notes: a.partial}
	for i := range a.reports {
		p.Facts = append(p.Facts, roundsText(&a.reports[i]))
		s := viewer.LeakSection(&a.reports[i])
		if a.changes != nil {
			s.Heading += ", after"
		}
		p.Sections = append(p.Sections, s)
	}
	for i := range a.changes {
		p.Changes = append(p.Changes, viewer.LeakChangeSection(&a.changes[i], &a.before[i], &a.reports[i]))
	}
	return p
}

// leaksName is a file's name, or how many there are.
func leaksName(names []string) string {
	if len(names) == 1 {
		return displayName(names[0])
	}
	return plural(len(names), "snapshot")
}
