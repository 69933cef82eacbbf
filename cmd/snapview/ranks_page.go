package main

import (
	"strings"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/viewer"
)

// ranksPage lays the report out for the viewer.
func ranksPage(r *attribution.RankReport, args []string) viewer.RanksPage {
	name := strings.Join(args[:min(len(args), 2)], ", ")
	if len(args) > 2 {
		name = plural(len(args), "argument")
	}
	return viewer.RanksPage{
		Report: r, Name: "Ranks: " + name, Facts: ranksFacts(r), Partial: ranksPartialText(r),
		Notes: ranksNotes(r), Version: currentVersion().Version,
	}
}
