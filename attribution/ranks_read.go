package attribution

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/snapview/snapview/internal/input"
	"github.com/snapview/snapview/snapshot"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

// RankOptions say which ranks to compare, and how to read them.
type RankOptions struct {
	At      string // which of several snapshots of a rank, as their files are named; "" for the last that most ranks have
	Device  int    // only this device; −1 for all
	Partial bool   // accept truncated or damaged files

	Memory  int64 // bytes that reading may take; 0 for no bound. A file that needs more is read alone
	Workers int   // files read at a time; 0 for one per processor

	// Progress, when set, is called now and then, from one goroutine at a time,
	// with the raw bytes read so far and in all. More may come in.
	Progress func(read, total int64)
}

// RankFailure is a snapshot that could not be read.
type RankFailure struct {
	ID    RankID
	Basis RankBasis
	Label string // "?" when the name does not tell the rank
	File  string
	Err   error
}

// RankSet are the rows of one comparison and how they were chosen.
type RankSet struct {
	Rows    []RankRow // by rank
	Failed  []RankFailure
	Skipped RankSkipped // files of folders that are no snapshots

	Moment  string       // the moment whose files were read, as they are named; "" when there is one
	Moments []RankMoment // all, in order of the run as far as names tell
	Notes   []string     // how the files were chosen, where there was a choice
}

// ReadRanks reads the snapshots that FindRanks found, several at a time, and
// keeps a row of each. The result does not depend on which is read first.
//
// Where several files are of one rank, those of one moment are read: see
// RankOptions.At.
func ReadRanks(ctx context.Context, sources []RankSource, skipped RankSkipped, o RankOptions) (RankSet, error) {
	if len(sources) == 0 {
		return RankSet{Skipped: skipped}, nil
	}
	r := &rankReader{o: o, rates: map[string]float64{}, skipped: RankSkipped{}}
	for k, n := range skipped {
		r.skipped[k] += n
	}
	p, err := planRanks(sources, planOptions{at: o.At})
	if err != nil {
		return RankSet{}, err
	}
	if err := r.read(ctx, p.files); err != nil {
		return RankSet{}, err
	}
	if p, err = r.reconsider(ctx, p, sources); err != nil {
		return RankSet{}, err
	}
	return r.collect(&p), nil
}

// rankReader reads files once each.
type rankReader struct {
	o       RankOptions
	skipped RankSkipped
	notes   []string

	mu       sync.Mutex
	done     map[string]rankResult // by path
	rates    map[string]float64    // decoded bytes per byte of a file, the most seen, by compression
	progress [2]int64              // raw bytes read, and in all
}

type rankResult struct {
	rows []RankRow
	err  error
}

// workFactor is how much memory it takes to read a snapshot and to classify it,
// per byte of the pickle. Measured: 2.4 with Python stacks, 1.6 with C++ stacks.
const workFactor = 2.5

// firstRates are taken for the decoded bytes per byte of a file until one of
// its compression was read. Snapshots compress well: 12 times with gzip, up to
// 30 times with zstd.
var firstRates = map[string]float64{"": 1, "gzip": 14, "zstd": 32}

const otherRate = 20

// read reads the files that were not read before.
func (r *rankReader) read(ctx context.Context, files []rankFile) error {
	if r.done == nil {
		r.done = map[string]rankResult{}
	}
	bound := r.o.Memory
	if bound <= 0 {
		bound = 1 << 60
	}
	files = slices.DeleteFunc(slices.Clone(files), func(f rankFile) bool { _, known := r.done[f.Source.Path]; return known })
	for _, f := range files {
		r.progress[1] += f.Source.Size
	}
	memory := semaphore.NewWeighted(bound)
	workers := r.o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var group errgroup.Group
	group.SetLimit(workers)
	for _, f := range files {
		need := min(bound, r.estimate(f.Source))
		if memory.Acquire(ctx, need) != nil {
			break
		}
		group.Go(func() error {
			defer memory.Release(need)
			res := r.readOne(ctx, f.Source)
			r.mu.Lock()
			defer r.mu.Unlock()
			r.done[f.Source.Path] = res
			return nil
		})
	}
	_ = group.Wait() // errors are results
	return ctx.Err()
}

// estimate is how many bytes reading a file is expected to take.
func (r *rankReader) estimate(s RankSource) int64 {
	key := strings.Join(s.Compression, "+")
	r.mu.Lock()
	rate, learned := r.rates[key]
	r.mu.Unlock()
	if !learned {
		var known bool
		if rate, known = firstRates[key]; !known {
			rate = otherRate
		}
	}
	return int64(float64(max(s.Size, 1))*rate*workFactor) + 1
}

// readOne reads and summarises a file; the snapshot itself is dropped.
func (r *rankReader) readOne(ctx context.Context, s RankSource) rankResult {
	if s.Err != nil {
		return rankResult{err: s.Err}
	}
	f, err := input.Open(s.Path)
	if err != nil {
		return rankResult{err: withoutFile(err)}
	}
	defer f.Close()
	defer context.AfterFunc(ctx, func() { f.Close() })() // ends a read that is under way
	before := int64(0)
	defer func() { r.advance(s.Size - before) }()
	snap, err := snapshot.Read(f, snapshot.Options{Name: s.Path, Partial: r.o.Partial, Progress: func(read, _ int64) {
		r.advance(read - before)
		before = read
	}})
	if err != nil {
		return rankResult{err: withoutFile(err)}
	}
	if s.Size > 0 {
		key := strings.Join(s.Compression, "+")
		r.mu.Lock()
		r.rates[key] = max(r.rates[key], float64(snap.Source.Bytes)/float64(s.Size))
		r.mu.Unlock()
	}
	return rankResult{rows: RankRows(snap)}
}

// advance tells that so many raw bytes more were read.
func (r *rankReader) advance(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress[0] += n
	if r.o.Progress != nil {
		r.o.Progress(r.progress[0], r.progress[1])
	}
}

// withoutFile takes the file's name off an error: rows say it anyway.
func withoutFile(err error) error {
	if e, ok := errors.AsType[*snapshot.Error](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*input.OpenError](err); ok {
		return e.Err
	}
	return err
}

// reconsider corrects what names seemed to say by what was read, and reads what
// is needed then.
func (r *rankReader) reconsider(ctx context.Context, p rankPlan, sources []RankSource) (rankPlan, error) {
	if r.oneProcess(p.files) {
		p, err := planRanks(sources, planOptions{at: r.o.At, notRanks: true})
		if err != nil {
			return p, err
		}
		return p, r.read(ctx, p.files)
	}
	other, doubt := p.probe()
	if !doubt {
		return p, nil
	}
	if err := r.read(ctx, []rankFile{other}); err != nil {
		return p, err
	}
	a, b := r.done[p.files[0].Source.Path], r.done[other.Source.Path]
	if len(a.rows) == 0 || len(b.rows) == 0 || a.rows[0].mark.same(b.rows[0].mark) {
		return p, nil
	}
	if !a.rows[0].mark.overlaps(b.rows[0].mark) {
		r.notes = append(r.notes, fmt.Sprintf("the snapshots named %q and %q are not of one process: other runs or other machines, of which one is shown",
			p.moments[p.chosen].Name, p.moments[other.moment].Name))
		return p, nil
	}
	if r.o.At != "" {
		return p, nil
	}
	r.notes = append(r.notes, "the same ranks occur under several names, in processes that ran at the same time: each name is taken for processes of its own, as of a machine")
	nodes, err := planRanks(sources, planOptions{otherNode: true})
	if err != nil {
		return p, err
	}
	return nodes, r.read(ctx, nodes.files)
}

// oneProcess reports whether numbers that were taken for ranks are not: two of
// the files prove to be of one process.
func (r *rankReader) oneProcess(files []rankFile) bool {
	seen := map[processMark]bool{}
	for _, f := range files {
		if f.Basis != RankByNumber {
			return false
		}
		for _, row := range r.done[f.Source.Path].rows {
			m := row.mark
			m.last = 0 // the end of a history moves on
			if m.first != 0 && seen[m] {
				return true
			}
			seen[m] = true
		}
	}
	return false
}
