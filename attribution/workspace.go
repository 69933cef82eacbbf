package attribution

import "github.com/snapview/snapview/snapshot"

// Sizes of the workspaces that PyTorch gives cuBLAS, one per handle and stream
// (CUDAContextLight: 32 MiB from Hopper on, 8,519,680 B = :4096:2:16:8 before),
// and cuBLASLt by default. A tensor can have these sizes too.
const (
	workspaceHopper  = 32 << 20
	workspaceEarlier = 8_519_680
	workspaceLtSize  = 1 << 20
)

func isHandleSize(size int64) bool { return size == workspaceHopper || size == workspaceEarlier }

func isWorkspaceSize(size int64) bool { return isHandleSize(size) || size == workspaceLtSize }

// A workspaceSite is where the first kept allocation of a workspace's size was
// seen: a workspace is made once per stream and pool, and by each thread, since
// the autograd thread has a handle of its own.
type workspaceSite struct {
	autograd bool
	stream   uint16
	pool     uint16
	size     int64
}

// A workspaceFind is a possible workspace.
type workspaceFind struct {
	alloc     int
	site      workspaceSite
	sameStack bool // comes at once after an allocation of the same line: cuBLAS asks for it after the output
}

// labelWorkspaces finds what cuBLAS made within ordinary lines: an allocation of
// its sizes that comes once, stays for good, and either follows its matmul's
// output or lives through a whole backward.
func (w *work) labelWorkspaces() {
	finds := w.findWorkspaces()
	if len(finds) == 0 {
		return
	}
	repeated, left := w.workspaceTwins()
	handles := map[uint16]bool{} // streams with a handle's workspace
	for _, f := range finds {
		if f.site.autograd {
			w.labelAutogradWorkspace(f, left)
		} else {
			w.labelMainWorkspace(f, repeated, handles[f.site.stream])
		}
		if w.labels[f.alloc].Category == Workspace && !w.open(f.alloc) {
			handles[f.site.stream] = true
		}
	}
}

func (w *work) findWorkspaces() (finds []workspaceFind) {
	seen := map[workspaceSite]bool{}
	for i := w.firstBorn; i < w.endBorn; i++ {
		a := &w.allocs[i]
		if !isWorkspaceSize(a.Requested) || w.end(i) != never || !w.open(i) || w.born(i) == markZero {
			continue
		}
		site := workspaceSite{w.born(i) == markBackward, a.Stream, a.Pool, a.Requested}
		if !seen[site] {
			seen[site] = true
			finds = append(finds, workspaceFind{i, site, w.followsSameStack(i)})
		}
	}
	return finds
}

// followsSameStack reports whether an allocation comes right after one of the
// same line, nothing freed between.
func (w *work) followsSameStack(i int) bool {
	if i == w.firstBorn {
		return false
	}
	a, before := &w.allocs[i], &w.allocs[i-1]
	events := eventsOf(w.time)
	for k := a.Born - 1; k > before.Born; k-- {
		if act := events[k].Action; act == snapshot.FreeRequested || act == snapshot.FreeCompleted {
			return false
		}
	}
	if w.feature(i).has(isEmpty) {
		return w.feature(i - 1).has(isEmpty)
	}
	return w.stacks.closeBy(a.Stack, before.Stack)
}

type (
	stackSize    struct{ stack, size int64 }
	backwardSize struct {
		backward int32
		size     int64
	}
)

// workspaceTwins counts the allocations of workspace sizes: by stack, and those
// that outlive the backward that made them.
func (w *work) workspaceTwins() (byStack map[stackSize]int, left map[backwardSize]int) {
	byStack, left = map[stackSize]int{}, map[backwardSize]int{}
	for i := w.firstBorn; i < w.endBorn; i++ {
		a := &w.allocs[i]
		if !isWorkspaceSize(a.Requested) {
			continue
		}
		if !w.feature(i).has(isEmpty) {
			byStack[stackSize{int64(w.stacks.text(a.Stack)), a.Requested}]++
		}
		if j := w.backwardOf(i); j >= 0 && w.end(i) > w.history.backwards[j].last {
			left[backwardSize{j, a.Requested}]++
		}
	}
	return byStack, left
}

// labelAutogradWorkspace takes care not to steal a gradient: where parameters
// have this size, the backward must leave more of it than there are parameters.
func (w *work) labelAutogradWorkspace(f workspaceFind, left map[backwardSize]int) {
	size := f.site.size
	if n := w.params[size]; n > 0 && left[backwardSize{w.backwardOf(f.alloc), size}] <= n {
		return
	}
	switch {
	case isHandleSize(size):
		w.labels[f.alloc] = workspaceAuto
	case len(w.params) > 0:
		w.labels[f.alloc] = workspaceAuto.at(probable)
	}
}

func (w *work) labelMainWorkspace(f workspaceFind, repeated map[stackSize]int, handle bool) {
	a := &w.allocs[f.alloc]
	later := w.history.closedBackwardAfter(a.Born)
	once := w.feature(f.alloc).has(isEmpty) || repeated[stackSize{int64(w.stacks.text(a.Stack)), a.Requested}] == 1
	switch {
	case !f.sameStack && !later:
	case !isHandleSize(a.Requested):
		if once && (handle || f.sameStack) {
			w.labels[f.alloc] = workspaceLt
		}
	case once && later && f.sameStack:
		w.labels[f.alloc] = workspaceMain
	case once:
		w.labels[f.alloc] = workspaceMain.at(fair)
	case later && f.sameStack:
		w.labels[f.alloc] = workspaceMain.at(likely)
	}
}
