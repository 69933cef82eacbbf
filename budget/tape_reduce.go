package budget

// reduction is the scratch of summing rows of a matrix into one row, as the
// gradient of a bias is: where few columns meet many rows, PyTorch divides the
// rows among thread blocks that meet in global memory (aten/src/ATen/native/
// cuda/Reduce.cuh, setReduceConfig). It can be many times what is summed.
func (t *tape) reduction(rows, columns int64) {
	blocks, grid := t.reductionBlocks(rows, columns)
	if blocks <= 1 {
		return
	}
	// 4 bytes for each output, thread of a warp and vector lane, and block.
	parts := t.scratch("sums of bias gradients", shape{{"columns", columns}, {"blocks", blocks}, {"lanes", reduceWarp * reduceVector}}, F32)
	flags := t.scratch("flags of bias gradients", shape{{"blocks", grid}}, F32)
	t.drop(flags, parts)
}

const (
	reduceWarp      = 32
	reduceVector    = 4   // outputs that a thread loads at once
	reduceThreads   = 512 // of a block, at most
	smThreads       = 2048
	leastPerThread  = 16
	mostPerThread   = 256
	reduceAlignment = reduceVector
)

// reductionBlocks returns how many thread blocks share one output, and the
// width of the grid.
func (t *tape) reductionBlocks(rows, columns int64) (blocks, grid int64) {
	vector := int64(reduceVector)
	if columns%reduceAlignment != 0 {
		vector = 1
	}
	width, height := blockOf(columns/vector, rows, reduceThreads/vector)
	values := rows
	if values < height*16 && values < mostPerThread {
		return 1, 0 // each warp has an output of its own
	}
	values = ceilDiv(rows, height)
	grid = ceilDiv(columns/vector, width)
	target := t.card.processors() * (smThreads / (width * height))
	if values < mostPerThread || grid > target {
		return 1, grid
	}
	return max(min(ceilDiv(target, grid), ceilDiv(values, leastPerThread)), ceilDiv(values, mostPerThread)), grid
}

// blockOf is ReduceConfig::set_block_dimension.
func blockOf(dim0, dim1, most int64) (width, height int64) {
	x, y := min(lastPowerOfTwo(dim0), most), min(lastPowerOfTwo(dim1), most)
	width = min(x, reduceWarp)
	height = min(y, most/width)
	return min(x, most/height), height
}

func lastPowerOfTwo(n int64) int64 {
	p := int64(1)
	for p*2 <= n {
		p *= 2
	}
	return p
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }
