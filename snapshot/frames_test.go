package snapshot

import "testing"

func TestFrameKinds(t *testing.T) {
	tests := []struct {
		file            string
		python, library bool
	}{
		{"/home/me/train.py", true, false},
		{"train.py", true, false},
		{"/t/venv/lib/python3.12/site-packages/torch/nn/modules/module.py", true, true},
		{"/usr/lib/python3/dist-packages/numpy/core.py", true, true},
		{"/usr/lib/python3.11/threading.py", true, true},
		{"/home/me/lib/python/x.py", true, false},
		{"/home/me/site-packages.py", true, false},
		{"<frozen importlib._bootstrap>", true, true},
		{"<string>", true, false},
		{"<eval_with_key>.7", true, false},
		{"/tmp/ipykernel_123/99.ipynb", true, false},
		{"/tmp/ipykernel_123/cell", true, false},
		{"??", false, false},
		{"", false, false},
		{"CUDACachingAllocator.cpp", false, false},
		{"/t/site-packages/torch/lib/x.so", false, true},
		{`C:\Users\me\train.py`, true, false},
		{`C:\Users\me\lib\train.py`, true, false},
		{`C:\Users\me\AppData\Local\Temp\ipykernel_1\2`, true, false},
		{`C:\t\venv\Lib\site-packages\torch\_tensor.py`, true, true},
		{`C:\Python312\Lib\threading.py`, true, true},
		{`C:\Users\me\AppData\Local\Programs\Python\Python311\lib\queue.py`, true, true},
		{`C:\Users\me\miniconda3\Lib\queue.py`, true, true},
		{`C:\ProgramData\Anaconda3\envs\ml\lib\queue.py`, true, true},
		{`\\server\share\lib\python3.11\queue.py`, true, true},
	}
	for _, tt := range tests {
		f := Frame{File: tt.file}
		if f.IsPython() != tt.python || f.IsLibrary() != tt.library {
			t.Errorf("%s: python %v, library %v; want %v, %v", tt.file, f.IsPython(), f.IsLibrary(), tt.python, tt.library)
		}
	}
}

var (
	unwind   = Frame{File: "??", Function: "torch::unwind::unwind()"}
	gather   = Frame{File: "memory_snapshot.cpp", Function: "torch::cuda::(anonymous namespace)::gather_with_cpp()"}
	malloc   = Frame{Function: "c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::allocate(unsigned long)"}
	unnamed  = Frame{File: "??", Function: "??"}
	emptyOp  = Frame{File: "??", Function: "at::detail::empty_generic()"}
	userLine = Frame{File: "/home/me/train.py", Line: 7, Function: "step"}
	libLine  = Frame{File: "/venv/lib/python3.12/site-packages/torch/nn/linear.py", Line: 9, Function: "forward"}
	libOuter = Frame{File: "/venv/lib/python3.12/site-packages/torch/nn/module.py", Line: 1, Function: "_call_impl"}
)

func TestUserFrame(t *testing.T) {
	tests := []struct {
		name            string
		stack           []Frame
		user, innermost *Frame
	}{
		{"user line below library lines", []Frame{libLine, libOuter, userLine, {File: "/home/me/main.py", Function: "main"}}, &userLine, &libLine},
		{"C++ frames do not hide it", []Frame{unwind, gather, malloc, emptyOp, libLine, unnamed, userLine}, &userLine, &emptyOp},
		{"library only: the innermost", []Frame{unwind, emptyOp, libLine, libOuter}, &libLine, &emptyOp},
		{"C++ only: the innermost named one that is not the recorder's", []Frame{unwind, gather, malloc, unnamed, emptyOp}, &emptyOp, &emptyOp},
		{"recorder only", []Frame{unnamed, unwind, malloc}, &unwind, &unnamed},
		{"nothing named", []Frame{unnamed, {}}, nil, &unnamed},
		{"empty", nil, nil, nil},
		{"user code may be called like the allocator", []Frame{{File: "a.py", Function: "c10::CachingAllocator::x"}}, &Frame{File: "a.py", Function: "c10::CachingAllocator::x"}, &Frame{File: "a.py", Function: "c10::CachingAllocator::x"}},
	}
	for _, tt := range tests {
		h := newHandmade()
		id := h.stack(tt.stack...)
		check := func(what string, got FrameID, ok bool, want *Frame) {
			t.Helper()
			if ok != (want != nil) || ok && h.Frames[got] != *want {
				t.Errorf("%s: %s frame %v, %v; want %v", tt.name, what, got, ok, want)
			}
		}
		user, ok := h.UserFrame(id)
		check("user", user, ok, tt.user)
		inner, ok := h.frameIndex().innermost(h.Stacks.Frames(id))
		check("innermost", inner, ok, tt.innermost)
	}
}

// The index follows frames that are added after it was built.
func TestFrameIndexGrows(t *testing.T) {
	h := newHandmade()
	h.stack(libLine)
	h.frameIndex()
	if id, ok := h.UserFrame(h.stack(userLine)); !ok || h.Frames[id] != userLine {
		t.Errorf("got %d, %v", id, ok)
	}
}

func TestFrameText(t *testing.T) {
	for want, f := range map[string]Frame{
		"/home/me/train.py:7 step":      userLine,
		"torch::unwind::unwind()":       unwind,
		"<string>":                      {File: "<string>"},
		"a.py f":                        {File: "a.py", Function: "f"},
		"??":                            {},
		`a\x1b[31m.py:1 b\u202e`:        {File: "a\x1b[31m.py", Line: 1, Function: "b\u202e"},
		`C:\me\train.py:3 naïve_größe`:  {File: `C:\me\train.py`, Line: 3, Function: "naïve_größe"},
		`x.py two\nlines \x07 of trick`: {File: "x.py", Function: "two\nlines \a of trick"},
	} {
		if got := (&Snapshot{}).FrameText(f); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
