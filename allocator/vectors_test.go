package allocator

import "testing"

// play runs requests (positive: a request of that many bytes; negative: the
// release of the n-th request) and returns the model.
func play(t *testing.T, conf string, limits Limits, steps []int64) *Model {
	t.Helper()
	set, err := ParseConf(conf)
	if err != nil {
		t.Fatal(err)
	}
	m := NewModel(set, limits)
	lane := m.Lane(0, 0)
	var got []int32
	for _, n := range steps {
		if n > 0 {
			got = append(got, m.Malloc(lane, n))
		} else {
			m.FreeCompleted(got[-n-1])
		}
		verify(t, m)
	}
	return m
}

// TestVectors holds cases worked out from the rules.
func TestVectors(t *testing.T) {
	freeAll := func(n int64) (s []int64) {
		for i := int64(1); i <= n; i++ {
			s = append(s, -i)
		}
		return s
	}
	times := func(n int, size int64) (s []int64) {
		for range n {
			s = append(s, size)
		}
		return s
	}
	join := func(parts ...[]int64) (s []int64) {
		for _, p := range parts {
			s = append(s, p...)
		}
		return s
	}
	small := join(times(8, 16*mib), freeAll(8), times(4, 32*mib))
	large := join(times(4, 32*mib), freeAll(4), times(8, 16*mib))
	for _, c := range []struct {
		name, conf                     string
		limits                         Limits
		steps                          []int64
		reserved, allocated, requested int64
	}{
		{"V1", "", Limits{}, []int64{1}, 2 * mib, 512, 1},
		{"V2 fits", "", Limits{}, times(2, mib), 2 * mib, 2 * mib, 2 * mib},
		{"V2 one more", "", Limits{}, join(times(2, mib), times(1, 1)), 4 * mib, 2*mib + 512, 2*mib + 1},
		{"V3", "", Limits{}, []int64{mib + 1}, 20 * mib, 1049088, mib + 1},
		{"V4", "", Limits{}, []int64{10*mib - 512}, 20 * mib, 10*mib - 512, 10*mib - 512},
		{"V5", "", Limits{}, []int64{10*mib - 511}, 10 * mib, 10 * mib, 10*mib - 511},
		{"V6", "", Limits{}, []int64{11 * mib}, 12 * mib, 12 * mib, 11 * mib},
		{"V7", "", Limits{}, []int64{19 * mib}, 20 * mib, 20 * mib, 19 * mib},
		{"V9", "", Limits{}, small, 256 * mib, 128 * mib, 128 * mib},
		{"V10", "", Limits{}, large, 128 * mib, 128 * mib, 128 * mib},
		{"V11", "expandable_segments:True", Limits{}, small, 140 * mib, 128 * mib, 128 * mib},
		{"V11 reverse", "expandable_segments:True", Limits{}, large, 140 * mib, 128 * mib, 128 * mib},
		{"V12", "max_split_size_mb:20", Limits{}, []int64{30 * mib, -1, 15 * mib}, 46 * mib, 16 * mib, 15 * mib},
		{"V13", "max_split_size_mb:20", Limits{}, []int64{64 * mib, -1, 45 * mib}, 64 * mib, 64 * mib, 45 * mib},
		{"V14", "max_split_size_mb:20", Limits{}, []int64{66 * mib, -1, 45 * mib}, 112 * mib, 46 * mib, 45 * mib},
		{"V15", "", Limits{Fraction: 64 * mib}, []int64{40 * mib, -1, 44 * mib}, 44 * mib, 44 * mib, 44 * mib},
	} {
		m := play(t, c.conf, c.limits, c.steps)
		if m.Reserved != c.reserved || m.Allocated != c.allocated || m.Requested != c.requested {
			t.Errorf("%s: reserved %d allocated %d requested %d, want %d %d %d", c.name,
				m.Reserved, m.Allocated, m.Requested, c.reserved, c.allocated, c.requested)
		}
	}
}

// TestRoundDivisions is vector V8.
func TestRoundDivisions(t *testing.T) {
	set, err := ParseConf("roundup_power2_divisions:4")
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int64]int64{1200: 1536, 2049: 2560, 5000: 5120, 5*mib + 1: 6 * mib, 4 * mib: 4 * mib} {
		if got := set.Round(n); got != want {
			t.Errorf("Round(%d) = %d, want %d", n, got, want)
		}
	}
}
