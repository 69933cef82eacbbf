// Package prefault has the kernel provide memory before it is written to. A long
// column grows into memory that the process never had, and each of its pages costs
// a fault, together as much as a fifth of the time that reading a file takes.
// Another core can do that meanwhile.
package prefault
