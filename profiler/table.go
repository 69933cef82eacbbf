package profiler

import (
	"fmt"
	"slices"
	"strings"
)

// By is what the rows of a Table stand for.
type By uint8

const (
	ByOp       By = iota // operator name
	ByShape              // operator and input shapes
	ByStack              // operator and the innermost frames of its stack
	ByLine               // line of the user's code, see UserFrame
	ByModule             // nn.Module, by its path of modules
	ByCategory           // what the memory is for
	ByKernel             // kernel name
)

var byNames = [...]string{"op", "shape", "stack", "line", "module", "category", "kernel"}

func (b By) String() string {
	if int(b) < len(byNames) {
		return byNames[b]
	}
	return fmt.Sprintf("by %d", uint8(b))
}

// ParseBy is the inverse of By.String.
func ParseBy(name string) (By, error) {
	if i := slices.Index(byNames[:], strings.ToLower(strings.TrimSpace(name))); i >= 0 {
		return By(i), nil
	}
	return 0, fmt.Errorf("there is no table by %q: use %s", name, strings.Join(byNames[:], ", "))
}

// DefaultStackDepth is how many frames tell rows of ByStack apart.
const DefaultStackDepth = 5

// TableOptions choose a table.
type TableOptions struct {
	By         By
	StackDepth int // frames that tell rows of ByStack apart; 0 for DefaultStackDepth

	// TorchCompat computes the rows as torch.profiler's key_averages() does:
	// memory goes to every operator that runs at the time, on any thread.
	// It knows ByOp, ByShape and ByStack.
	TorchCompat bool
}

// A Row is a line of a Table. Durations are ns, sizes are bytes.
type Row struct {
	Name     string   // operator, category or kernel; text of the line or module
	Stack    []string // innermost first; of ByStack and as an example elsewhere
	Shapes   string   // JSON text of the input shapes, of ByShape
	File     string   // of ByLine
	Function string
	Line     int32
	Module   string // of ByModule
	Backward bool   // the row is the backward of the line or module it names

	Count                                                    int // calls
	SelfCPU, CPU, SelfDevice, DeviceTime                     int64
	SelfCPUMemory, CPUMemory, SelfDeviceMemory, DeviceMemory int64 // net: allocated minus freed
	Allocated, Freed                                         int64 // gross, of the row itself, on the device (on the CPU in traces without device memory)
	Allocs, Frees                                            int
	Peak                                                     int64 // highest net memory while a call ran, with what it called
	Kept                                                     int64 // net memory still there after its calls returned, with what they called
	Flops                                                    int64
	Kernels                                                  int // launched by the row itself
}

// A Table is the profiler's table, of one kind.
type Table struct {
	By   By
	Rows []Row // by memory, then time, largest first

	// Unattributed and UnattributedFreed are what was allocated and freed
	// outside of every operator: rows and these add up to the ledger.
	Unattributed, UnattributedFreed int64
	Notes                           []string // what the trace lacks for this table, one sentence each
}
