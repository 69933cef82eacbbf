package attribution

import (
	"path"
	"strings"

	"github.com/snapview/snapview/snapshot"
)

// NoModule is the module of memory that no module's forward allocated.
const NoModule = "(no module)"

// ModuleOf names the module whose forward allocated a, outermost first:
// "model::forward › attention::forward › Linear".
//
// Stacks hold no class and no instance, so a module of the user's is its file
// and function, and one of torch.nn is the class that its file defines. What
// the program itself recorded (user_metadata, which holds module names under
// component tracking) is better and comes first.
func ModuleOf(s *snapshot.Snapshot, a *snapshot.Allocation) string {
	if int(a.Label) < len(s.Labels) {
		if text := strings.TrimSpace(s.Labels[a.Label].UserMetadata); text != "" && !strings.HasPrefix(text, "{") {
			return text
		}
	}
	var parts []string
	frames := s.Stacks.Frames(a.Stack)
	for i := len(frames) - 1; i >= 0; i-- {
		name := moduleFrame(&s.Frames[frames[i]])
		if name != "" && (len(parts) == 0 || parts[len(parts)-1] != name) {
			parts = append(parts, name)
		}
	}
	if len(parts) == 0 {
		return NoModule
	}
	return strings.Join(parts, " › ")
}

// moduleFrame names the module that a frame is the forward of, "" for none.
func moduleFrame(f *snapshot.Frame) string {
	if !f.IsPython() || !strings.HasPrefix(f.Function, "forward") && f.Function != "_conv_forward" {
		return ""
	}
	stem := strings.TrimSuffix(baseName(f.File), ".py")
	switch dir := strings.ReplaceAll(f.File, `\`, "/"); {
	case strings.Contains(dir, "/torch/nn/modules/"):
		if stem == "module" || stem == "container" {
			return ""
		}
		return torchModule(stem)
	case strings.Contains(dir, "/torch/") && f.IsLibrary():
		return "" // wrappers: parallel, compile, checkpoint
	}
	return stem + "::" + f.Function
}

// torchModule is the class that a file of torch/nn/modules is about, or the
// file's name for the families of several.
func torchModule(stem string) string {
	switch stem {
	case "linear", "dropout", "transformer", "embedding", "fold", "bilinear":
		return strings.ToUpper(stem[:1]) + stem[1:]
	case "sparse":
		return "Embedding"
	case "conv":
		return "Conv"
	case "normalization":
		return "Norm"
	case "batchnorm":
		return "BatchNorm"
	case "instancenorm":
		return "InstanceNorm"
	case "rnn":
		return "RNN"
	}
	return "nn." + stem
}

func baseName(file string) string { return path.Base(strings.ReplaceAll(file, `\`, "/")) }
