package main

import (
	"io"
	"time"

	"github.com/snapview/snapview/internal/units"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// progressDelay is how long work may take before a bar appears. A variable,
// so that a test need not be slow.
var progressDelay = time.Second

// A progress is a bar on stderr over the bytes of a file.
type progress struct {
	out    io.Writer // nil: never shown
	name   string
	began  time.Time
	bars   *mpb.Progress
	bar    *mpb.Bar
	length int64
}

// newProgress returns a bar that shows only on a terminal and after
// progressDelay. Finish must be called.
func (u *ui) newProgress(name string) *progress {
	p := &progress{name: cutLeft(units.Safe(displayName(name)), 30), began: time.Now()}
	if isTerminal(u.err) {
		p.out = u.err
	}
	return p
}

// update is snapshot.Options.Progress: raw bytes read so far and in all, -1 if
// not known.
func (p *progress) update(read, total int64) {
	if p.out == nil || time.Since(p.began) < progressDelay {
		return
	}
	if p.bar == nil {
		p.show(total)
	}
	if total <= 0 && read > p.length {
		p.length = read + read/2
		p.bar.SetTotal(p.length, false)
	}
	p.bar.SetCurrent(read)
}

func (p *progress) show(total int64) {
	p.bars = mpb.New(mpb.WithOutput(p.out), mpb.WithWidth(40))
	p.length = max(total, 1)
	p.bar = p.bars.AddBar(p.length,
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name("reading "+p.name+" ")),
		mpb.AppendDecorators(decor.CurrentKibiByte(" % .1f")))
}

// finish removes the bar.
func (p *progress) finish() {
	if p.bar == nil {
		return
	}
	p.bar.Abort(true)
	p.bars.Wait()
}
