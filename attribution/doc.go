// Package attribution says what memory is for: parameters, gradients, optimizer
// state, activations and so on, from one plain memory snapshot or from several.
//
// A snapshot records where and when memory was allocated and freed, not what it
// holds. What it holds follows from how PyTorch works: which function of the
// library asked for it, on which thread (the autograd engine runs backward on
// threads of its own, which have no Python frames), in which phase of a
// training step, how long it lived, and of which other sizes it has the size.
// Every answer carries the evidence and a confidence; Unknown is an answer too.
package attribution
