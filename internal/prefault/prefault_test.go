package prefault

import "testing"

// Memory may be written to before, while and after it is prepared.
func TestSoon(t *testing.T) {
	for _, n := range []int{0, 1, 1000, 1 << 18, 1<<20 + 1} {
		s := make([]int64, n)
		if n > 0 {
			s[0] = 7
		}
		Soon(s)
		for i := range s {
			if s[i] += int64(i); s[i] != int64(i) && (i > 0 || s[i] != 7) {
				t.Fatalf("[%d] of %d is %d", i, n, s[i])
			}
		}
		Soon(s)
	}
	Soon[byte](nil)
}
