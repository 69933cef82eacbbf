package hugepage

import "testing"

// What is written before and after is kept, whatever the length and size.
func TestAdvise(t *testing.T) {
	for _, room := range []int{0, 1, 1000, 1 << 18, 1<<20 + 1, 5 << 20} {
		s := make([]int64, 0, 3+room)
		s = append(s, 1, 2, 3)
		Advise(s)
		for i := range room {
			s = append(s, int64(i))
		}
		Advise(s)
		if s[2] != 3 || room > 0 && (s[3] != 0 || s[len(s)-1] != int64(room-1)) {
			t.Errorf("room for %d: changed", room)
		}
	}
	Advise[byte](nil)
}
