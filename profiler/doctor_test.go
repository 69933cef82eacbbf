package profiler

import (
	"io"
	"strings"
	"testing"
)

func titles(f []Finding) string {
	var out []string
	for _, x := range f {
		out = append(out, x.Title)
	}
	return strings.Join(out, "; ")
}

func TestDoctor(t *testing.T) {
	for _, c := range []struct {
		name     string
		text     string
		want     string // part of a title
		fix      string // part of its fix
		severity Severity
	}{
		{"memory on, none recorded", with(opAdd), "profile_memory was on, but", "profile_all_threads", Severe},
		{"memory off", strings.Replace(with(opAdd), `"profile_memory": 1, `, "", 1), "no memory events", "profile_memory=True", Warning},
		{"stacks only as frames", small(), "shows no stacks", "verbose=True", Note},
		{"stacks on, none there", with(opAdd, memOne), "with_stack was on, but", "verbose=True", Warning},
		{"stacks off", strings.Replace(with(opAdd), `"with_stack": 1, `, "", 1), "the trace has no stacks", "with_stack=True", Warning},
		{"damage", with(opAdd[:80], opMul), "damaged and was repaired", "newer PyTorch", Warning},
		{"cut", small()[:len(head)+len(opAdd)+20], "the file is cut", "once the program has ended", Severe},
		{"no time", with(strings.Replace(opAdd, "5130298482061.310", "N/A", 1), opMul), "cannot be used", "", Warning},
		{"zero times", with(opAdd, strings.Repeat(zeroOp+",", 5)+zeroOp), "events without time", "record again", Severe},
		{"kernel without launch", small(), "kernels without a launch", "warmup", Warning},
		{"unfinished", with(strings.Replace(opAdd, `"Ev Idx": 0`, `"finished": false`, 1)), "still running", "stop the profiler", Note},
		{"out of memory", with(memOne, strings.Replace(memOne, "[memory]", "[OutOfMemory]", 1)), "ran out of memory", "", Severe},
		{"crossing", with(opAdd, strings.Replace(opMul, "5130298482080.001", "5130298482073.000", 1)), "operators cross", "", Warning},
		{"totals", with(memOne, strings.Replace(strings.Replace(memOne, "065.000", "066.000", 1), `"Total Allocated": 512`, `"Total Allocated": 2000`, 1)),
			"do not follow", "", Warning},
		{"processes", with(opAdd, strings.Replace(opMul, `"pid": 7`, `"pid": 8`, 1)), "several processes", "each rank", Warning},
		{"no device work", with(opAdd, memOne), "no device activity", "ProfilerActivity.CUDA", Warning},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := mustRead(t, c.text).Doctor()
			for i, f := range found {
				if i > 0 && f.Severity > found[i-1].Severity {
					t.Errorf("not in order of severity: %s", titles(found))
				}
				if strings.Contains(f.Title, c.want) {
					if !strings.Contains(f.Fix, c.fix) || f.Severity != c.severity || f.Detail == "" {
						t.Errorf("%+v", f)
					}
					return
				}
			}
			t.Errorf("not found; there is: %s", titles(found))
		})
	}
}

const zeroOp = `{"ph": "X", "cat": "cpu_op", "name": "x", "pid": 7, "tid": 9, "ts": 0.000, "dur": 0.000, "args": {}}`

// What a sound trace says.
func TestDoctorOfSoundTraces(t *testing.T) {
	for _, name := range []string{"tv_cpu", "tr_gpt"} {
		for _, f := range corpus(t, name).Doctor() {
			if f.Severity > Note {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
	tr := corpus(t, "tr_gpt")
	tr.Partial = io.ErrUnexpectedEOF
	if f := tr.Doctor(); len(f) == 0 || f[0].Title != "the file is cut" {
		t.Errorf("%s", titles(f))
	}
}
