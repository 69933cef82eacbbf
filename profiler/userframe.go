package profiler

import (
	"regexp"
	"strconv"
	"strings"
)

// modulePrefix starts the name of a frame that is a call of an nn.Module; the
// name of its class follows, and a number that tells modules of a class apart.
const modulePrefix = "nn.Module: "

// A frameText is the text of a stack entry, taken apart.
type frameText struct {
	text     string
	file     string // "" unless the entry is Python code with a file
	function string
	module   string // "Linear_0" of "nn.Module: Linear_0"
	line     int32
	library  bool // of an installed package or the standard library
}

// objectAddress is the address in the name of a built-in: it differs from
// object to object, and from run to run.
var objectAddress = regexp.MustCompile(` at 0x[0-9a-fA-F]+>`)

// parseFrame takes the name of a Python frame apart: "file.py(12): function",
// "nn.Module: Linear_0" or "<built-in method …>".
//
// The line is the one at which the function is defined, since the tracer sees
// a frame when it is entered. Frames that were open when profiling began have
// the line that they were at.
func parseFrame(text string) frameText {
	f := frameText{text: text}
	if name, ok := strings.CutPrefix(text, modulePrefix); ok {
		f.module = name
		return f
	}
	if strings.HasPrefix(text, "<built-in ") {
		f.text = objectAddress.ReplaceAllString(text, ">")
		return f
	}
	open := strings.Index(text, "): ")
	if open < 0 {
		return f
	}
	at := strings.LastIndexByte(text[:open], '(')
	if at <= 0 {
		return f
	}
	line, err := strconv.ParseInt(text[at+1:open], 10, 32)
	if err != nil {
		return f
	}
	f.file, f.function, f.line = text[:at], text[open+3:], int32(line)
	f.library = isLibraryFile(f.file)
	return f
}

// isLibraryFile reports whether a file belongs to an installed package or to
// Python's standard library. The profiler cuts the folder of sys.path off a
// file, so that both look like files of the user; they are told by the names
// of known packages.
func isLibraryFile(file string) bool {
	if strings.HasPrefix(file, "<") { // generated code, but for what a user types
		return !strings.HasPrefix(file, "<stdin") && !strings.HasPrefix(file, "<ipython")
	}
	file = strings.ReplaceAll(file, `\`, "/")
	if strings.HasPrefix(file, "/") || len(file) > 2 && file[1] == ':' && file[2] == '/' {
		return isLibraryPath(file)
	}
	top, _, folder := strings.Cut(file, "/")
	if !folder {
		top = strings.TrimSuffix(top, ".py")
	}
	return libraryNames[top] || isLibraryPath("/"+file)
}

func isLibraryPath(path string) bool {
	return strings.Contains(path, "/site-packages/") || strings.Contains(path, "/dist-packages/") ||
		strings.Contains(path, "/lib/python") || windowsLibrary.MatchString(path)
}

// windowsLibrary matches the standard library in the folder Lib of a Python, a
// conda or one of its environments.
var windowsLibrary = regexp.MustCompile(`(?i)/((site|dist)-packages|(python3[^/]*|[^/]*(conda|forge)3?|envs/[^/]+)/lib)/`)

// libraryNames are modules of the standard library that show up in stacks, and
// installed packages that training programs import. Names that scripts of users
// often have (test, profile, code, trace) are left out.
var libraryNames = func() map[string]bool {
	names := make(map[string]bool)
	for _, n := range strings.Fields(libraryList) {
		names[n] = true
	}
	return names
}()

const libraryList = `
abc ast argparse array asyncio atexit base64 bdb bisect builtins bz2 calendar cProfile codecs codeop collections
concurrent configparser contextlib contextvars copy copyreg csv ctypes dataclasses datetime decimal difflib dis
distutils email encodings enum errno faulthandler fileinput fnmatch fractions functools gc genericpath getpass gettext
glob gzip hashlib heapq hmac html http imp importlib inspect io ipaddress itertools json keyword linecache locale
logging lzma marshal math mimetypes mmap multiprocessing numbers opcode operator os pathlib pdb pickle pickletools
pkgutil platform plistlib posixpath ntpath pprint queue random re reprlib runpy sched secrets select selectors shelve
shlex shutil signal site socket socketserver sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string
stringprep struct subprocess symtable sysconfig tarfile tempfile textwrap threading timeit token tokenize traceback
tracemalloc types typing unicodedata unittest urllib uuid warnings wave weakref weakrefset _weakrefset
_collections_abc xml xmlrpc zipfile zipimport zlib zoneinfo

torch torchvision torchaudio torchtext torchdata torchao torchmetrics torchgen functorch triton caffe2
transformers tokenizers accelerate diffusers datasets peft trl safetensors huggingface_hub evaluate optimum
deepspeed apex transformer_engine flash_attn xformers bitsandbytes lightning lightning_fabric lightning_utilities
pytorch_lightning ignite fastai timm einops kornia monai torch_geometric
numpy scipy pandas sklearn matplotlib PIL cv2 pyarrow jax jaxlib tensorflow keras
tqdm yaml omegaconf hydra absl fire click typer rich wandb mlflow tensorboard tensorboardX fsspec ray dask
typing_extensions six packaging pydantic attr attrs requests urllib3 filelock psutil cloudpickle dill joblib
IPython ipykernel traitlets tornado zmq jupyter_client pytest _pytest pluggy setuptools pkg_resources
`

// LineOf returns the line of the user's program that a stack, innermost entry
// first, stands for: the innermost Python frame outside of installed packages
// and the standard library; without one the innermost Python frame. It returns
// false for a stack without Python files.
//
// File names are as in the trace, absolute or relative to a folder of
// sys.path. See parseFrame for what the line is.
func LineOf(stack []string) (file string, line int32, function string, ok bool) {
	var main string
	if len(stack) > 0 {
		root := parseFrame(stack[len(stack)-1])
		main = root.mainFile()
	}
	for _, text := range stack {
		f := parseFrame(text)
		if f.file == "" {
			continue
		}
		if f.isUser(main) {
			return f.file, f.line, f.function, true
		}
		if !ok {
			file, line, function, ok = f.file, f.line, f.function, true
		}
	}
	return file, line, function, ok
}

// mainFile returns the file of the program when the frame, the outermost of a
// stack, is its main module. That is a user's even if a library is called so.
func (f *frameText) mainFile() string {
	if f.function != "<module>" || strings.HasPrefix(f.file, "<") || strings.Contains(f.file, "/") {
		return ""
	}
	return f.file
}

// isUser reports whether the frame is code of the user's program, whose main
// module is in the file main.
func (f *frameText) isUser(main string) bool {
	return f.file != "" && (!f.library || f.file == main)
}
