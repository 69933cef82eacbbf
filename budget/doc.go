// Package budget says what memory a training run will take before it runs, how
// far that was off, and whether a run keeps to what was allowed.
package budget
