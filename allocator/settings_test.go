package allocator

import (
	"strings"
	"testing"
)

func TestParseConf(t *testing.T) {
	for conf, want := range map[string]string{
		"":                          "",
		"expandable_segments:True":  "expandable_segments:True",
		"expandable_segments:False": "",
		" max_split_size_mb : 64 , garbage_collection_threshold:0.6": "max_split_size_mb:64,garbage_collection_threshold:0.6",
		"roundup_power2_divisions:8":                                 "roundup_power2_divisions:8",
		"roundup_power2_divisions:[256:1,512:2,>:4]":                 "roundup_power2_divisions:[256:1,512:4,>:4]",
		"roundup_power2_divisions:[64:8,256:4,>:1],backend:native":   "roundup_power2_divisions:[64:8,128:0,256:1,>:1]",
		"roundup_power2_divisions:[1:4,2:0,>:0]":                     "roundup_power2_divisions:[1:4,2:0,>:0]",
		"large_segment_size_mb:64,max_non_split_rounding_mb:40":      "max_non_split_rounding_mb:40,large_segment_size_mb:64",
		"pinned_num_register_threads:8":                              "pinned_num_register_threads:8",
		"something_new:[a:b,c]":                                      "something_new:[a:b,c]",
	} {
		s, err := ParseConf(conf)
		if err != nil {
			t.Errorf("%q: %v", conf, err)
			continue
		}
		if got := s.String(); got != want {
			t.Errorf("%q reads as %q, want %q", conf, got, want)
		}
		again, err := ParseConf(s.String())
		if err != nil || again.Roundup != s.Roundup {
			t.Errorf("%q does not survive: %v %v", conf, again.Roundup, err)
		}
	}
}

func TestParseConfErrors(t *testing.T) {
	for conf, want := range map[string]string{
		"max_split_size_mb":                     "expected \":\"",
		"max_split_size_mb:10":                  "at least 20",
		"max_split_size_mb:x":                   "whole number",
		"garbage_collection_threshold:1.5":      "between 0 and 1",
		"garbage_collection_threshold:NaN":      "between 0 and 1",
		"expandable_segments:true":              "True or False",
		"roundup_power2_divisions:3":            "power of two",
		"roundup_power2_divisions:[3:1]":        "power of two",
		"roundup_power2_divisions:[256:3]":      "power of two",
		"roundup_power2_divisions:[256:1":       "expected \",\"",
		"roundup_power2_divisions:[":            "expected \":\"",
		"expandable_segments:True max_split:64": "True or False",
		"expandable_segments:True;x:1":          "True or False",
		"backend:other":                         "native",
		",":                                     "expected a setting",
		"x:":                                    "expected a value",
	} {
		if _, err := ParseConf(conf); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", conf, err, want)
		}
	}
}
