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

	// Count is the number of calls: of operators, annotations and runtime calls
	// in tables by operator, those inside others included; of the operators that
	// a line or module calls itself, without what runs inside of them in the
	// same row; of allocations by category; of device work by kernel.
	Count                                                    int
	SelfCPU, CPU, SelfDevice, DeviceTime                     int64
	SelfCPUMemory, CPUMemory, SelfDeviceMemory, DeviceMemory int64 // net: allocated minus freed
	Allocated, Freed                                         int64 // gross, of the row itself, on the device (on the CPU in traces without device memory)
	Allocs, Frees                                            int
	Flops                                                    int64
	Kernels                                                  int // launched by the row itself; copies and fills are none, though their time is in SelfDevice

	// Peak is the highest net memory while a call ran, with what it called. Frees
	// on other threads of what the call allocated count. It is never more than
	// the peak of the ledger where the trace has addresses.
	Peak int64
	// Kept is the net memory still there when a call returned, with what it
	// called, summed over calls.
	Kept int64
}

// A Table is the profiler's table, of one kind.
type Table struct {
	By   By
	Rows []Row // by memory, then time, largest first

	// Unattributed and UnattributedFreed are what was allocated and freed
	// outside of every operator: rows and these add up to the ledger.
	Unattributed, UnattributedFreed int64

	// UnattributedCPU and UnattributedDevice are the net bytes of that, of the
	// CPU and of devices: with SelfCPUMemory and SelfDeviceMemory of the rows
	// they add up to Allocated − Freed of the ledgers. They are 0 with TorchCompat,
	// whose rows have this memory as [memory] and add up to no ledger: there
	// memory counts in every operator that ran at the time.
	UnattributedCPU, UnattributedDevice int64

	Notes []string // what the trace lacks for this table, one sentence each
}
