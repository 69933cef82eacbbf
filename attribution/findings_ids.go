package attribution

// FindingIDs returns the IDs of all findings that Findings may return, in
// alphabetical order.
func FindingIDs() []string {
	return []string{
		"attention_scores", "autocast_weights", "clip_temporaries", "copied_parameters", "foreach_temporaries", "kept_gradients",
		"logits", "no_checkpointing", "one_off_scratch", "pending_frees", "private_pools", "retained_graph",
		"rounding", "split_gaps", "validation_graph", "workspaces",
	}
}
