package main

import "github.com/snapview/snapview/viewer"

// leaksPage gathers the page of what leaks found.
func leaksPage(a *leaksAnswer) viewer.GrowthPage {
	p := viewer.GrowthPage{Name: leaksName(a.names), Version: currentVersion().Version, Notes: a.partial}
	for i := range a.reports {
		p.Facts = append(p.Facts, roundsText(&a.reports[i]))
		p.Sections = append(p.Sections, viewer.LeakSection(&a.reports[i]))
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
