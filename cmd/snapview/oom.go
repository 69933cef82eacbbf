package main

import (
	"fmt"

	"github.com/snapview/snapview/allocator"
	"github.com/snapview/snapview/attribution"
	"github.com/snapview/snapview/internal/units"
	"github.com/snapview/snapview/snapshot"
	"github.com/spf13/cobra"
)

// oomOptions are what oom adds to the common options.
type oomOptions struct {
	options
	limit, memory string
	most          int
}

// oomRows is how many lines of code hold memory in the text unless -n says otherwise.
const oomRows = 8

func newOOM() *cobra.Command {
	o := &oomOptions{}
	cmd := &cobra.Command{
		Use:   "oom FILE",
		Short: "Why an allocation failed, what held the rest, what would have helped",
		Long: `Why memory ran out. For each allocation that failed: what was asked and by which
line, what the allocator held, what of it was free and why that did not do, who
held the rest, and which settings would have helped, by replay of the same
requests.

The verdict is fragmentation when the free memory would have sufficed in one
piece, and capacity otherwise. A snapshot holds neither a limit set with
set_per_process_memory_fraction nor the size of the device: --limit and
--device-memory sharpen the answer.`,
		Example: `  snapview oom snapshot.pickle
  snapview oom snapshot.pickle --limit 40GiB --device-memory 80GiB
  snapview oom snapshot.pickle --json`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error { return runOOM(cmd, o, args[0]) },
	}
	flags := cmd.Flags()
	o.register(flags, oomRows, "at most `N` rows of a table, 0 for all (default 8; all with --json)")
	flags.StringVar(&o.limit, "limit", "", "the `SIZE` that the process was allowed to reserve, such as 40GiB")
	flags.StringVar(&o.memory, "device-memory", "", "the `SIZE` of the device's memory, such as 80GiB")
	flags.IntVar(&o.most, "last", attribution.DefaultOOMs, "explain only the last `N` that failed")
	return cmd
}

func runOOM(cmd *cobra.Command, o *oomOptions, name string) error {
	u, err := o.start(cmd)
	if err != nil {
		return err
	}
	known, err := o.known()
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
	var answers []deviceOOM
	for _, t := range o.device.withoutIdle(timelines) {
		if caveat := unsoundCaveat(t); caveat != "" {
			u.note(name, caveat)
		}
		answers = append(answers, explainOOM(s, t, known))
	}
	if o.json {
		return writeJSON(u.out, oomJSON(s, answers, o))
	}
	_, err = fmt.Fprint(u.out, u.oomAnswers(s, answers, o))
	return err
}

// known is what the user says that the file does not.
func (o *oomOptions) known() (attribution.OOMOptions, error) {
	known := attribution.OOMOptions{Most: o.most}
	if o.most < 1 {
		return known, usagef("--last %d: explain at least one", o.most)
	}
	for _, flag := range []struct {
		name, text string
		to         *int64
	}{{"--limit", o.limit, &known.Limit}, {"--device-memory", o.memory, &known.Device}} {
		if flag.text == "" {
			continue
		}
		n, err := units.ParseBytes(flag.text)
		if err != nil {
			return known, usagef("%s: %w", flag.name, err)
		}
		if n == 0 {
			return known, usagef("%s %s: not a size above 0", flag.name, flag.text)
		}
		*flag.to = n
	}
	return known, nil
}

// A deviceOOM is the answer of oom for one device.
type deviceOOM struct {
	*attribution.OOMReport
	timeline *snapshot.Timeline
}

// explainOOM explains a device. What no event calls for is not worked out.
func explainOOM(s *snapshot.Snapshot, t *snapshot.Timeline, known attribution.OOMOptions) deviceOOM {
	if _, ok := lastOOM(t.Device); !ok {
		return deviceOOM{&attribution.OOMReport{}, t}
	}
	return deviceOOM{attribution.ExplainOOM(attribution.Classify(s, t), allocator.Exact(s, t), known), t}
}
