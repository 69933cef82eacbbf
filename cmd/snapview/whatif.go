package main

import (
	"fmt"
	"strings"

	"github.com/snapview/snapview/allocator"
	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
	"github.com/spf13/cobra"
)

// whatifOptions are what whatif adds to the common options.
type whatifOptions struct {
	options
	confs []string
	limit string
}

func newWhatif() *cobra.Command {
	o := &whatifOptions{}
	cmd := &cobra.Command{
		Use:   "whatif FILE",
		Short: "What the run would have reserved under other allocator settings",
		Long: `Replays the recorded requests under other settings of PyTorch's caching allocator,
and says what it would have reserved, whether requests fail, and what to set.

Without --conf the settings worth trying are tried and ranked. The recorded run is
replayed first, which must come out as recorded. --limit replays on a device with
that much memory for the allocator; without it, a run that was short of memory is
replayed with what it had.`,
		Example: `  snapview whatif snapshot.pickle
  snapview whatif snapshot.pickle --conf expandable_segments:True --conf max_split_size_mb:128
  snapview whatif snapshot.pickle --limit 38GiB --json`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error { return runWhatif(cmd, o, args[0]) },
	}
	flags := cmd.Flags()
	o.register(flags, 0, "at most `N` settings, 0 for all (default all)")
	flags.StringArrayVar(&o.confs, "conf", nil, "`SETTINGS` as in PYTORCH_CUDA_ALLOC_CONF; may be given several times")
	flags.StringVar(&o.limit, "limit", "", "`SIZE` that the allocator may reserve, such as 40GiB")
	return cmd
}

func runWhatif(cmd *cobra.Command, o *whatifOptions, name string) error {
	u, err := o.start(cmd)
	if err != nil {
		return err
	}
	question, err := o.question()
	if err != nil {
		return err
	}
	f, err := u.openFile(name)
	if err != nil {
		return err
	}
	defer f.Close()
	s, err := u.readSnapshot(f, name, &o.options)
	if err != nil {
		return err
	}
	timelines, err := replay(s, name, &o.options)
	if err != nil {
		return err
	}
	answers, err := u.advise(s, name, o.device.withoutIdle(timelines), question)
	if err != nil {
		return err
	}
	if o.json {
		return writeJSON(u.out, whatifJSON(s, answers, o))
	}
	_, err = fmt.Fprint(u.out, u.whatifText(s, answers, o))
	return err
}

// leastLimit is the smallest segment that the allocator asks a device for.
const leastLimit = 2 << 20

// question checks and reads the flags.
func (o *whatifOptions) question() (allocator.Question, error) {
	var q allocator.Question
	for _, conf := range o.confs {
		set, err := allocator.ParseConf(conf)
		if err != nil {
			return q, usagef("--conf: %w", err)
		}
		q.Settings = append(q.Settings, set)
	}
	if o.limit == "" {
		return q, nil
	}
	limit, err := units.ParseBytes(o.limit)
	if err != nil {
		return q, usagef("--limit: %w", err)
	}
	if limit <= 0 {
		return q, usagef("--limit %s: not a size above 0", o.limit)
	}
	if limit < leastLimit {
		return q, usagef("--limit %s: less than 2 MiB, which no run fits in; add a unit, such as %sGiB", o.limit, strings.TrimRight(o.limit, " bB"))
	}
	q.Limit = limit
	return q, nil
}

// A deviceAdvice is the answer of whatif for one device.
type deviceAdvice struct {
	recorded *allocator.Replay
	*allocator.Advice
}

// advise answers for each device that has a history; there must be one.
func (u *ui) advise(s *snapshot.Snapshot, name string, timelines []*snapshot.Timeline, q allocator.Question) ([]deviceAdvice, error) {
	var answers []deviceAdvice
	for _, t := range timelines {
		if !hasHistory(t) {
			continue
		}
		r := allocator.Exact(s, t)
		answer := deviceAdvice{r, r.Advise(q)}
		answers = append(answers, answer)
		for _, note := range answer.Notes {
			u.note(name, fmt.Sprintf("device %d: %s", t.Device.Index, note))
		}
	}
	if len(answers) == 0 {
		return nil, inFile(name, fmt.Errorf("no history to replay: allocations were not recorded as they happened; "+
			"call torch.cuda.memory._record_memory_history() before the model is built"))
	}
	return answers, nil
}
