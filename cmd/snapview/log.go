package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/input"
	"github.com/snapview/snapview/trainlog"
	"github.com/snapview/snapview/viewer"
	"github.com/spf13/cobra"
)

// logOptions are what log adds to the common options.
type logOptions struct {
	options
	out string
}

// logRows is how many curves and runs are listed.
const logRows = 8

func newLog() *cobra.Command {
	o := &logOptions{}
	cmd := &cobra.Command{
		Use:   "log FILE…",
		Short: "Curves and verdict from training logs and nvidia-smi tables",
		Long: `Find the memory figures in training logs and say whether memory leaks, the cache
grows or all is steady. Read are

  printed lines   allocated, reserved, cached, memory or peak with a unit, beside a
                  step, as scripts, DeepSpeed, Megatron, torchtitan, torchtune,
                  Lightning, Transformers, MMEngine, Detectron2, verl and others print
                  them; with ranks, colours, progress bars and container logs
  memory_stats()  as JSON lines, nested or flat, or printed
  memory_summary() text
  tables          nvidia-smi --query-gpu or --query-compute-apps --format=csv with any
                  fields, nvidia-smi dmon and its plain table, rocm-smi --csv,
                  Lightning's metrics.csv and other CSV with named columns

Several files of one run (train.log, stats.jsonl, smi.csv) are joined, by time
where they have times: memory outside PyTorch is what nvidia-smi shows beyond
reserved. Ranks and runs are told apart. A printed GB may be 1000³ or 1024³ bytes;
what decides between them is said, and what is assumed.`,
		Example: `  snapview log train.log
  snapview log train.log stats.jsonl smi.csv -o growth.html
  snapview log rank*.log --json
  kubectl logs trainer-0 | snapview log -`,
		Args: someFiles,
		RunE: func(cmd *cobra.Command, args []string) error { return runLog(cmd, o, args) },
	}
	flags := cmd.Flags()
	o.register(flags, logRows, "at most `N` curves and runs, 0 for all (default 8; all with --json)")
	flags.StringVarP(&o.out, "output", "o", "", "also write the curves to `FILE.html`")
	return cmd
}

func runLog(cmd *cobra.Command, o *logOptions, names []string) error {
	u, err := o.start(cmd)
	if err != nil {
		return err
	}
	if err := o.checkPage(cmd, o.out, names); err != nil {
		return err
	}
	a, err := u.readLogs(names, &o.options)
	if err != nil {
		return err
	}
	if o.out != "" {
		if err := u.writeExtraPage(cmd, o.out, func(w io.Writer) error { return viewer.WriteGrowth(w, logPage(a)) }); err != nil {
			return err
		}
	}
	if o.json {
		return writeJSON(u.out, logsJSON(a, &o.options))
	}
	_, err = fmt.Fprint(u.out, u.logText(a, &o.options))
	return err
}

// A logAnswer is what log found.
type logAnswer struct {
	logs []*trainlog.Log
	attribution.LogReport
	partial []string // files that were not read to their end, and why
}

// readLogs reads the files and judges what they say. A file without a memory
// figure is an error only if all are.
func (u *ui) readLogs(names []string, o *options) (*logAnswer, error) {
	a := &logAnswer{}
	var first error
	read := map[string]bool{}
	for _, name := range names {
		if path := filepath.Clean(name); read[path] {
			u.note(name, "given twice; it counts once")
			continue
		} else {
			read[path] = true
		}
		l, err := u.readLog(name, o)
		switch {
		case err == nil:
		case l != nil && o.partial && len(l.Series) > 0:
			a.partial = append(a.partial, err.Error())
		case l != nil:
			return nil, fmt.Errorf("%w; --partial shows what was read", err)
		case errors.Is(err, trainlog.ErrNoFigures):
			if first == nil {
				first = err
			}
			if len(names) > 1 {
				u.note(name, "no memory figures found in it")
			}
			continue
		default:
			return nil, err
		}
		a.logs = append(a.logs, l)
	}
	if len(a.logs) == 0 {
		return nil, first
	}
	return a, a.judge(o)
}

// judge finds the runs in the logs.
func (a *logAnswer) judge(o *options) error {
	a.LogReport = attribution.LogGrowth(a.logs, attribution.LogOptions{Device: int(o.device)})
	if len(a.Runs) == 0 {
		return usagef("--device %d: not in the logs", o.device)
	}
	return nil
}

func (u *ui) readLog(name string, o *options) (*trainlog.Log, error) {
	f, err := u.openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	switch f.Kind {
	case input.Pickle, input.SnapshotJSON, input.SegmentListJSON, input.ChromeTrace, input.MemoryTimeline, input.MemoryTimelineRaw:
		return nil, inFile(name, fmt.Errorf("not a training log: it is %s; snapview report reads it", f.Kind.Describe()))
	}
	bar := u.newProgress(name)
	defer bar.finish()
	l, err := trainlog.Read(f, trainlog.Options{Name: displayName(name), Progress: bar.update})
	bar.finish()
	if err != nil {
		return l, inFile(name, err)
	}
	return l, nil
}
