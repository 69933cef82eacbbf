package viewer

import "testing"

// The map of a past moment shows once it is opened.
func TestPastMapOpens(t *testing.T) {
	p := openPage(t, captured(t, "sim_kvcache/default_lim1"), 1280)
	const visible = `[...document.querySelectorAll("#d0-map-oom canvas")].filter(c => c.checkVisibility({contentVisibilityAuto: true})).reduce((n, c) => n + Math.round(c.getBoundingClientRect().height), 0)`
	if before := eval[int](p, visible); before != 0 {
		t.Errorf("the closed map shows %d pixels", before)
	}
	eval[bool](p, `document.querySelector("[data-map=oom] > summary").click(), true`)
	if after := eval[int](p, visible); after <= 100 {
		t.Errorf("the opened map is %d pixels high", after)
	}
	p.quiet()
}
