// Package snapshot decodes PyTorch memory snapshots and accounts for every byte in them.
//
// A snapshot is what torch.cuda.memory._dump_snapshot writes: the segments and
// blocks of the caching allocator, the history of its events, and call stacks.
// Open reads one; Device.Stats gives the accounts of the end state; Device.Timeline
// replays the history into allocations and curves; Fold sums live memory by
// line, function, file, frame or stack.
//
// Two sizes exist and are never mixed: requested (what the tensor asked for,
// carried by events) and size (the block, rounded, carried by segments).
package snapshot
