package attribution

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/snapview/snapview/internal/input"
	"github.com/snapview/snapview/snapshot"
)

var everyDevice = RankOptions{Device: -1}

// TestRanksDDP compares two ranks of a run in which one had longer sequences.
func TestRanksDDP(t *testing.T) {
	r := readRanks(t, everyDevice, captures+"/dist_ddp")
	if got := rankRowsText(&r); got != "0@0:name 1@1:name " || r.Moment != "end" || len(r.Failed) > 0 {
		t.Fatalf("rows %s at %q", got, r.Moment)
	}
	if r.Skipped.Files() != 8 { // the truth beside each
		t.Errorf("skipped %v", r.Skipped)
	}
	if r.Limiting != 1 || len(r.Outliers) != 1 || len(r.Groups) != 1 || len(r.MissingRanks) != 0 {
		t.Fatalf("limiting %d, outliers %+v, groups %+v, missing %v", r.Limiting, r.Outliers, r.Groups, r.MissingRanks)
	}
	for _, row := range r.Rows {
		var truth struct{ Stats map[string]any }
		data := readMaybePacked(t, strings.TrimSuffix(row.File, ".pickle.zst")+".truth.json")
		if err := json.Unmarshal(data, &truth); err != nil {
			t.Fatal(err)
		}
		for key, got := range map[string]int64{
			"requested_bytes.all.peak": row.PeakRequested, "reserved_bytes.all.peak": row.PeakReserved, "requested_bytes.all.current": row.End.Requested,
			"allocated_bytes.all.current": row.End.Allocated, "reserved_bytes.all.current": row.End.Reserved, "inactive_split_bytes.all.current": row.End.InactiveSplit,
		} {
			if want, _ := truth.Stats[key].(float64); got != int64(want) {
				t.Errorf("rank %s: %s is %d, PyTorch says %v", row.Label, key, got, truth.Stats[key])
			}
		}
	}
	o := r.Outliers[0]
	if !o.Pair || o.Rows[0] != 1 || o.Reference != 0 || o.Delta != 1006561800-886917128 {
		t.Errorf("%+v", o)
	}
	var lines []string
	for _, l := range o.Lines {
		if l.File != "" {
			lines = append(lines, fmt.Sprintf("%s:%d %d", filepath.Base(l.File), l.Line, l.Delta>>20))
		}
	}
	if want := []string{"model.py:32 32", "model.py:59 16", "model.py:13 12"}; !slices.Equal(lines[:3], want) {
		t.Errorf("lines %q, want %q first", lines, want)
	}
	text := strings.Join(r.Summary, "\n")
	for _, want := range []string{"rank 1 limits the job", "rank 1 holds 114 MiB (13.5%) more", "model.py:32 +32.0 MiB", "1.25 times as large"} {
		if !strings.Contains(text, want) {
			t.Errorf("the summary lacks %q:\n%s", want, text)
		}
	}
	checkRanksClose(t, &r)
}

// TestRanksChoose reads folders as they occur and says what was read.
func TestRanksChoose(t *testing.T) {
	const hour = 3600e6
	at := func(device int, start int64) fakeRank {
		return fakeRank{device: device, start: start, lines: []int64{64 << 20, int64(device+1) << 20}}
	}
	long := func(device int, start int64) fakeRank { // one whose history goes on
		return fakeRank{device: device, start: start, lines: []int64{64 << 20, 8 << 20, 8 << 20, 1 << 20}}
	}
	for _, tt := range []struct {
		name  string
		files map[string]fakeRank
		rows  string
		note  string
	}{
		{"the rank is the device", map[string]fakeRank{"hostA_Apr_05_12_34_56.json": at(0, 1e15), "hostA_Apr_05_12_34_57.json": at(1, 2e15)}, "0@0:device 1@1:device ", ""},
		{"nothing tells", map[string]fakeRank{"a.json": at(0, 1e15), "b.json": at(0, 2e15)}, "#0@0:order #1@0:order ", ""},
		{"numbers are ranks", map[string]fakeRank{"snap_0.json": at(0, 1e15), "snap_1.json": at(0, 2e15)}, "0@0:number 1@0:number ", ""},
		{"numbers are moments of one process", map[string]fakeRank{"snap_0.json": at(0, 1e15), "snap_1.json": long(0, 1e15)}, "0@0:device ", "1 snapshot was left out: earlier ones"},
		{"machines at one time", map[string]fakeRank{
			"alpha/rank0.json": at(0, 1e15), "alpha/rank1.json": at(1, 1e15), "beta/rank0.json": at(0, 1e15+1), "beta/rank1.json": at(1, 1e15+1),
		}, "alpha/0@0:name alpha/1@1:name beta/0@0:name beta/1@1:name ", "each name is taken for processes of its own"},
		{"runs one after another", map[string]fakeRank{
			"alpha/rank0.json": at(0, 1e15), "alpha/rank1.json": at(1, 1e15), "beta/rank0.json": at(0, 1e15+hour), "beta/rank1.json": at(1, 1e15+hour),
		}, "0@0:name 1@1:name ", "not of one process"},
		{"moments of a process", map[string]fakeRank{"alpha/rank0.json": at(0, 1e15), "beta/rank0.json": long(0, 1e15)}, "0@0:name ", ""},
		{"a copy", map[string]fakeRank{"rank0.json": at(0, 1e15), "rank1.json": at(0, 1e15)}, "0@0:name 1@0:name ", "the same recording"},
		{"a rank lacks the moment", map[string]fakeRank{"rank0_end.json": at(0, 1e15), "rank1_end.json": at(0, 2e15), "rank2_forward.json": at(0, 3e15)}, "0@0:name 1@0:name ", `rank 2 left no snapshot named "end"`},
		{"several devices of one file", map[string]fakeRank{"snapshot.json": {device: 1, start: 1e15, lines: []int64{8 << 20}, stray: 4 << 20}}, "0@0:device 1@1:device ", ""},
		{"GPUs of machines", map[string]fakeRank{"node0.json": {device: 1, start: 1e15, lines: []int64{8 << 20}, stray: 4 << 20}, "node1.json": at(0, 1e15)},
			"node0/0@0:name node0/1@1:name node1@0:name ", ""},
		{"memory on another rank's device", map[string]fakeRank{"rank0.json": at(0, 1e15), "rank1.json": {device: 1, start: 2e15, lines: []int64{64 << 20}, stray: 4 << 20}},
			"0@0:name 1:0@0:name 1@1:name ", ""},
		{"no history", map[string]fakeRank{"rank0.json": at(0, 0), "rank1.json": at(1, 0)}, "0@0:name 1@1:name ", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := readRanks(t, everyDevice, writeRanks(t, tt.files))
			if got := rankRowsText(&r); got != tt.rows {
				t.Errorf("rows %s, want %s", got, tt.rows)
			}
			if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, tt.note) || tt.note == "" && notes != "" {
				t.Errorf("notes %q, want %q", notes, tt.note)
			}
			checkRanksClose(t, &r)
		})
	}
}

func TestRanksDevice(t *testing.T) {
	dir := writeRanks(t, map[string]fakeRank{"rank0.json": {device: 0, start: 1e15, lines: []int64{64 << 20}}, "rank1.json": {device: 1, start: 1e15, lines: []int64{64 << 20}, stray: 4 << 20}})
	r := readRanks(t, RankOptions{Device: 1}, dir)
	if got := rankRowsText(&r); got != "1@1:name " {
		t.Error(got)
	}
}

// TestRanksStray tells of memory on a device of another rank, and keeps it out
// of the comparison.
func TestRanksStray(t *testing.T) {
	files := map[string]fakeRank{"rank0.json": {device: 0, start: 1e15, lines: []int64{64 << 20}}}
	for i := 1; i < 4; i++ {
		files[fmt.Sprintf("rank%d.json", i)] = fakeRank{device: i, start: 1e15 + int64(i), lines: []int64{64 << 20}, stray: 10 << 20}
	}
	r := readRanks(t, everyDevice, writeRanks(t, files))
	text := strings.Join(r.Summary, "\n")
	if !strings.Contains(text, "ranks 1-3 also reserved up to 30.0 MiB in all on device 0") || !strings.Contains(text, "all 4 ranks reserve the same") {
		t.Error(text)
	}
	if len(r.Outliers) > 0 || len(r.Groups) != 1 || len(r.Groups[0].Rows) != 4 {
		t.Errorf("%+v %+v", r.Outliers, r.Groups)
	}
}

// TestRanksOutlier names the rank that differs from most, and its line.
func TestRanksOutlier(t *testing.T) {
	files := map[string]fakeRank{}
	for i := range 16 {
		f := fakeRank{device: i % 8, start: int64(1e15) + int64(i), parameters: 100 << 20, lines: []int64{200 << 20, 50 << 20, int64(i%3) << 10}}
		switch i {
		case 5:
			f.lines[1] = 90 << 20
		case 9: // as much in all, elsewhere
			f.lines[0], f.lines[1] = 180<<20, 70<<20
		case 11:
			continue
		}
		files[fmt.Sprintf("rank%d.json", i)] = f
	}
	dir := writeRanks(t, files)
	r := readRanks(t, everyDevice, dir)
	if len(r.Outliers) != 2 || !slices.Equal(r.MissingRanks, []int{11}) {
		t.Fatalf("outliers %+v, missing %v", r.Outliers, r.MissingRanks)
	}
	for i, want := range []struct {
		label string
		delta int64
		line  int32
		more  int64
	}{{"5", 40 << 20, 20, 40 << 20}, {"9", 0, 10, -20 << 20}} {
		o := r.Outliers[i]
		if got := r.Rows[o.Rows[0]].Label; got != want.label || (o.Delta+1<<19)>>20 != want.delta>>20 || o.Lines[0].Line != want.line || o.Lines[0].Delta != want.more {
			t.Errorf("outlier %d is rank %s with %d, line %+v", i, got, o.Delta, o.Lines[0])
		}
		if len(o.Deviations) == 0 || !math.IsInf(o.Deviations[0].Score, 1) && o.Deviations[0].Score < unusualScore {
			t.Errorf("deviations %+v", o.Deviations)
		}
	}
	if text := strings.Join(r.Summary, "\n"); !strings.Contains(text, "rank 5 limits the job") || !strings.Contains(text, "train.py:20 +40.0 MiB") || !strings.Contains(text, "no file is of rank 11") {
		t.Error(text)
	}
	checkRanksClose(t, &r)
}

// TestRanksUneven finds nothing unusual where all ranks vary.
func TestRanksUneven(t *testing.T) {
	files := map[string]fakeRank{}
	for i := range 12 {
		files[fmt.Sprintf("rank%d.json", i)] = fakeRank{device: i % 8, start: int64(1e15) + int64(i), lines: []int64{int64(200+10*(i*7%12)) << 20}}
	}
	if r := readRanks(t, everyDevice, writeRanks(t, files)); len(r.Outliers) != 0 {
		t.Errorf("%+v", r.Outliers)
	}
}

// TestRanksPipeline notes stages of a pipeline and compares within them.
func TestRanksPipeline(t *testing.T) {
	for _, name := range []string{"rank%d.json", "pp%d_tp%d.json"} {
		files := map[string]fakeRank{}
		for i := range 12 {
			stage := i / 4
			f := fakeRank{device: i % 8, start: int64(1e15) + int64(i), parameters: []int64{300, 100, 250}[stage] << 20, lines: []int64{int64(50+10*stage) << 20}}
			if i == 6 {
				f.lines[0] += 30 << 20
			}
			path := fmt.Sprintf(name, i)
			if strings.HasPrefix(name, "pp") {
				path = fmt.Sprintf(name, stage, i%4)
			}
			files[path] = f
		}
		r := readRanks(t, everyDevice, writeRanks(t, files))
		if len(r.Groups) != 3 || len(r.Outliers) != 1 || r.Outliers[0].Rows[0] != 6 || r.Outliers[0].Delta != 30<<20 {
			t.Errorf("%s: groups %+v, outliers %+v", name, r.Groups, r.Outliers)
		}
		if text := strings.Join(r.Summary, "\n"); !strings.Contains(text, "as pipeline stages do") {
			t.Error(text)
		}
		checkRanksClose(t, &r)
	}
}

// TestRanksReal compares ranks of two real jobs on two GPUs. In the first, four
// stages of a pipeline have two ranks each, the first and the last with equal
// parameters; rank 5 has larger batches, and odd ranks allocate on device 0. In
// the second, all ranks hold the same model with sequences of changing length;
// rank 3 keeps a copy of the model and rank 5 a list that grows.
func TestRanksReal(t *testing.T) {
	r := readRanks(t, everyDevice, captures+"/ranks_pipe")
	if got := rankRowsText(&r); got != "0@0:name 1:0@0:name 1@1:name 2@0:name 3:0@0:name 3@1:name 4@0:name 5:0@0:name 5@1:name 6@0:name 7:0@0:name 7@1:name " {
		t.Errorf("rows %s", got)
	}
	var groups []string
	for k := range r.Groups {
		groups = append(groups, fmt.Sprint(r.GroupName(&r.Groups[k]), " ", r.Groups[k].OfKind))
	}
	if want := []string{"ranks 0, 1 false", "ranks 2-5 false", "ranks 6, 7 true"}; !slices.Equal(groups, want) {
		t.Errorf("groups %q, want %q", groups, want)
	}
	if len(r.Outliers) != 1 || len(r.Outliers[0].Rows) != 1 || r.Rows[r.Outliers[0].Rows[0]].Label != "5" {
		t.Errorf("outliers %+v", r.Outliers)
	}
	text := strings.Join(r.Summary, "\n")
	for _, want := range []string{"ranks 6, 7 limit the job", "the inputs of rank 5 are 1.38 times as large", "ranks 1, 3, 5, 7 also reserved up to 120 MiB in all on device 0"} {
		if !strings.Contains(text, want) {
			t.Errorf("the summary lacks %q:\n%s", want, text)
		}
	}
	checkRanksClose(t, &r)

	r = readRanks(t, everyDevice, captures+"/ranks_dp")
	found := map[string]int32{} // the line that differs most, of those that hold more
	for _, o := range r.Outliers {
		for _, l := range o.Lines {
			if l.Delta > 0 {
				found[r.Rows[o.Rows[0]].Label] = l.Line
				break
			}
		}
	}
	if found["3"] != 18 || found["5"] != 17 || r.Rows[r.Outliers[0].Rows[0]].Label != "3" || r.Limiting != 3 {
		t.Errorf("lines by rank %v, limiting %d", found, r.Limiting)
	}
	checkRanksClose(t, &r)
}

// TestRanksPartly reads on where a file cannot be read.
func TestRanksPartly(t *testing.T) {
	dir := writeRanks(t, map[string]fakeRank{"rank0.json": {start: 1e15, lines: []int64{1 << 20}}, "rank2.json": {start: 2e15, lines: []int64{1 << 20}, oom: true}})
	f, err := input.Open(captures + "/dist_ddp/rank1_end.pickle.zst")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	whole, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{"rank1.pickle": "", "rank3.pickle": string(whole[:len(whole)/2]), "notes.txt": "nothing", "rank4.pickle": "\x80\x04}."} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r := readRanks(t, everyDevice, dir)
	if got := rankRowsText(&r); got != "0@0:name 2@0:name " {
		t.Error(got)
	}
	var failed []string
	for _, f := range r.Failed {
		failed = append(failed, f.Label)
	}
	if !slices.Equal(failed, []string{"1", "3"}) || !slices.Equal(r.MissingRanks, []int(nil)) {
		t.Errorf("failed %v, missing %v", r.Failed, r.MissingRanks)
	}
	if r.Skipped.Files() != 2 || r.Rows[1].OOMs != 1 {
		t.Errorf("skipped %v, %+v", r.Skipped, r.Rows[1])
	}
	r = readRanks(t, RankOptions{Device: -1, Partial: true}, dir)
	if got := rankRowsText(&r); got != "0@0:name 2@0:name 3@1:name " || r.Rows[2].Partial == "" || len(r.Failed) != 1 {
		t.Errorf("with partial files: %s", got)
	}
	checkRanksClose(t, &r)
	if _, err := ReadRanks(context.Background(), []RankSource{{Path: "rank0_a.json"}, {Path: "rank0_b.json"}}, nil, RankOptions{At: "c"}); !errors.Is(err, ErrNoRankMoment) {
		t.Errorf("an unknown moment: %v", err)
	}
}

// TestRanksOrder checks that neither the order of files nor the number read at
// a time, nor the bound on memory, shows in the result.
func TestRanksOrder(t *testing.T) {
	dir := writeRanks(t, map[string]fakeRank{
		"rank0.json": {start: 1e15, lines: []int64{3 << 20}}, "rank1.json": {start: 2e15, lines: []int64{3 << 20, 5 << 20}}, "rank2.json": {start: 3e15, device: 2, lines: []int64{9 << 20}}, "rank3.json": {start: 4e15, device: 2, lines: []int64{9 << 20}},
	})
	sources, _, err := FindRanks(context.Background(), []string{dir, dir, captures + "/dist_ddp/rank1_end.pickle.zst"}, "")
	if err != nil {
		t.Fatal(err)
	}
	var want RankReport
	for i, o := range []RankOptions{{Device: -1, Workers: 1}, {Device: -1, Workers: 8}, {Device: -1, Workers: 4, Memory: 1}} {
		var read, all int64
		o.Progress = func(done, total int64) { read, all = done, total }
		set, err := ReadRanks(context.Background(), sources, RankSkipped{}, o)
		if err != nil || read == 0 || read != all {
			t.Fatalf("%v, told of %d of %d bytes", err, read, all)
		}
		got := Ranks(set)
		if i == 0 {
			want = got
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("with %+v the result differs", o)
		}
		slices.Reverse(sources)
	}
}

func TestRanksCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	sources, skipped, err := FindRanks(ctx, []string{captures + "/dist_ddp"}, "")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := ReadRanks(ctx, sources, skipped, everyDevice); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, _, err := FindRanks(ctx, []string{captures}, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestFindRanks(t *testing.T) {
	for _, tt := range []struct {
		args, match string
		files       int
	}{
		{"dist_ddp", "", 8},
		{"dist_ddp", "rank1_", 4},
		{"dist_ddp", "*_end.pickle*", 2},
		{"dist_ddp dist_ddp/rank0_end.pickle.zst", "", 8},
		{"dist_ddp/rank0_end.pickle.zst dist_ddp/rank0_end.truth.json.zst missing.pickle", "", 3}, // to say why they cannot be read
	} {
		var args []string
		for a := range strings.FieldsSeq(tt.args) {
			args = append(args, filepath.Join(captures, a))
		}
		sources, _, err := FindRanks(context.Background(), args, tt.match)
		if err != nil || len(sources) != tt.files {
			t.Errorf("%s %s: %d files, want %d (%v)", tt.args, tt.match, len(sources), tt.files, err)
		}
	}
	if _, _, err := FindRanks(context.Background(), nil, "["); err == nil {
		t.Error("a bad pattern is accepted")
	}
}

// TestRankRowsClose checks the rows of every capture against the accounts.
func TestRankRowsClose(t *testing.T) {
	r := readRanks(t, RankOptions{Device: -1, At: ""}, captures)
	if len(r.Rows) == 0 {
		t.Fatal("nothing was read")
	}
	checkRanksClose(t, &r)
	for _, row := range r.Rows {
		if row.HasPeak && row.Partial == "" && row.AtPeak.Sum() != row.PeakRequested {
			t.Errorf("%s: categories sum to %d at the peak of %d", row.File, row.AtPeak.Sum(), row.PeakRequested)
		}
		if row.AtEnd.Sum() != row.End.Requested {
			t.Errorf("%s: categories sum to %d at the end, requested are %d", row.File, row.AtEnd.Sum(), row.End.Requested)
		}
	}
}

// checkRanksClose checks that sums are those of their parts.
func checkRanksClose(t reporter, r *RankReport) {
	t.Helper()
	sums := map[string]int64{}
	for i, row := range r.Rows {
		for _, a := range rankAccounts {
			sums[a.name] += a.of(&r.Rows[i])
		}
		var lines int64
		for _, l := range r.LinesOf(i) {
			lines += l.Bytes
		}
		totals := r.Totals(i)
		if lines != totals.Sum() {
			t.Errorf("%s: lines sum to %d, categories to %d", row.Label, lines, totals.Sum())
		}
		for _, k := range Categories() {
			sums[k.String()] += totals[k]
		}
		sums["lines"] += lines
	}
	var merged int64
	for _, l := range r.Lines {
		merged += l.Bytes
	}
	if merged != sums["lines"] {
		t.Errorf("merged lines sum to %d, those of the rows to %d", merged, sums["lines"])
	}
	for _, n := range slices.Concat(r.Numbers, r.Categories) {
		if n.Sum != sums[n.Name] || n.Min > n.Median || n.Median > n.Max {
			t.Errorf("%+v, the rows sum to %d", n, sums[n.Name])
		}
	}
	parts := func(what string, want int64, categories []CategoryDelta, lines []RankDelta) {
		var byCategory, byLine int64
		for _, c := range categories {
			byCategory += c.Delta
		}
		for _, l := range lines {
			byLine += l.Delta
		}
		if byCategory != want || byLine != want {
			t.Errorf("%s is %d, its categories sum to %d and its lines to %d", what, want, byCategory, byLine)
		}
	}
	parts("the spread", r.Spread.Bytes, r.Spread.Categories, r.Spread.Lines)
	for _, o := range r.Outliers {
		parts("an outlier", o.Delta, o.Categories, o.Lines)
	}
	grouped := 0
	for _, g := range r.Groups {
		grouped += len(g.Rows)
	}
	for _, row := range r.Rows {
		if !row.Stray {
			grouped--
		}
	}
	if grouped != 0 {
		t.Errorf("the groups have %+d ranks too many", grouped)
	}
}

// TestRanksModel checks the sums, and that the order of rows means nothing but
// for indices, on rows of any numbers.
func TestRanksModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := RankSet{}
		for i := range rapid.IntRange(0, 30).Draw(t, "ranks") {
			row := RankRow{ID: RankID{Rank: i, Local: -1}, Basis: RankByName, Label: fmt.Sprint(i), File: fmt.Sprint(i), HasPeak: rapid.Bool().Draw(t, "peak"),
				Stray: i > 0 && rapid.IntRange(0, 9).Draw(t, "stray") == 0, History: snapshot.HistoryComplete}
			for n := range rapid.IntRange(0, 5).Draw(t, "lines") {
				l := RankLine{File: "a.py", Line: int32(n), Bytes: rapid.Int64Range(0, 1<<32).Draw(t, "bytes"), Count: 1,
					Category: Category(rapid.IntRange(0, NumCategories-1).Draw(t, "category"))}
				row.PeakLines = append(row.PeakLines, l)
				row.AtPeak[l.Category] += l.Bytes
			}
			row.EndLines, row.AtEnd = row.PeakLines, row.AtPeak
			row.PeakRequested = row.AtPeak.Sum()
			row.PeakReserved = row.PeakRequested + rapid.Int64Range(0, 1<<30).Draw(t, "cached")
			set.Rows = append(set.Rows, row)
		}
		r := Ranks(set)
		checkRanksClose(t, &r)
		back := RankSet{Rows: slices.Clone(set.Rows)}
		slices.Reverse(back.Rows)
		other := Ranks(back)
		if r.Spread.Bytes != other.Spread.Bytes {
			t.Errorf("reversed rows give a spread of %d, not %d", other.Spread.Bytes, r.Spread.Bytes)
		}
		for i, n := range r.Numbers {
			if m := other.Numbers[i]; n.Sum != m.Sum || n.Min != m.Min || n.Median != m.Median || n.Max != m.Max {
				t.Errorf("reversed rows give %+v, not %+v", m, n)
			}
		}
	})
}
