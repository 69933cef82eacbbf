package main

import (
	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/snapshot"
)

// A classifier says what the memory of a timeline is for.
type classifier func(*snapshot.Timeline) *attribution.Classification

// newClassifier classifies each timeline of s once, however often it is asked.
func newClassifier(s *snapshot.Snapshot) classifier {
	done := map[*snapshot.Timeline]*attribution.Classification{}
	return func(t *snapshot.Timeline) *attribution.Classification {
		if done[t] == nil {
			done[t] = attribution.Classify(s, t)
		}
		return done[t]
	}
}
