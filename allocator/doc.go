// Package allocator is PyTorch's caching allocator as a model. It replays the
// history of a snapshot exactly, which yields what the history does not record
// (the sizes of blocks, and so the peaks of allocated and active memory), and
// replays the same requests under other settings and limits.
//
// The rules follow c10/cuda/CUDACachingAllocator.cpp and
// c10/core/AllocatorConfig.cpp of PyTorch; where releases differ, those of 2.11.
// Comments name the function that a rule comes from.
package allocator
