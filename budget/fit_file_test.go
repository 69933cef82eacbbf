package budget

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func modelText(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := fitted(t).Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestModelFile(t *testing.T) {
	text := modelText(t)
	if !IsModel(text[:200]) {
		t.Error("the beginning does not tell that it is a model")
	}
	m, err := ReadModel(bytes.NewReader(text), "m")
	if err != nil {
		t.Fatal(err)
	}
	want, _ := fitted(t).Predict(base)
	if got, err := m.Predict(base); err != nil || got.Peak != want.Peak || got.High != want.High || *got.Reserved != *want.Reserved {
		t.Errorf("read back: %+v, want %+v (%v)", got, want, err)
	}
	if m.Checked() == nil || m.Checked().Covered != fitted(t).Check.Covered {
		t.Error("the cross-validation is not read back")
	}
	var again bytes.Buffer
	m.Check = fitted(t).Check
	if err := m.Write(&again); err != nil || !bytes.Equal(again.Bytes(), text) {
		t.Errorf("written again it differs (%v)", err)
	}
}

// TestModelOfPoints reads a table of points where a model is wanted.
func TestModelOfPoints(t *testing.T) {
	points := `{"batch": 1, "peak": "1 GiB"}` + "\n" + `{"batch": 2, "peak": "1.5 GiB"}` + "\n" + `{"batch": 4, "peak": "2.5 GiB"}`
	m, err := ReadModel(strings.NewReader(points), "m")
	if err != nil {
		t.Fatal(err)
	}
	if p, err := m.Predict(map[string]string{"batch": "3"}); err != nil || p.Peak < 19<<26 || p.Peak > 21<<27 {
		t.Errorf("predicted %+v (%v)", p, err)
	}
}

func TestModelFileErrors(t *testing.T) {
	text := string(modelText(t))
	edit := func(from, to string) string {
		if !strings.Contains(text, from) {
			t.Fatalf("the file has no %s", from)
		}
		return strings.Replace(text, from, to, 1)
	}
	var f ModelFile
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		t.Fatal(err)
	}
	coefficient, _ := json.Marshal(f.Terms[0].Bytes)
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "not a fitted model"},
		{"something else", `{"batch": "hello"}`, "not a fitted model"},
		{"not JSON", "\x80\x04]", "not a fitted model"},
		{"cut", text[:len(text)/2], "not a fitted model"},
		{"another version", edit(`"version": 1`, `"version": 2`), "version 2 of a fitted model; this snapview reads version 1"},
		{"an edited coefficient", edit(`"bytes_per_unit": `+string(coefficient), `"bytes_per_unit": 3.5`), "not those of its points"},
		{"an edited point", edit(`"batch": 32`, `"batch": 31`), "not those of its points"},
		{"a wrong point", edit(`"batch": 32`, `"batch": 0`), "points, line 1: batch: 0 is not above 0"},
		{"no points", `{"kind": "memory_model", "version": 1, "confidence": 0.95, "terms": [], "points": []}`, "0 points"},
		{"points that are none", `{"kind": "memory_model", "version": 1, "confidence": 0.95, "terms": [], "points": [1, 2, 3]}`, "points, line 1: not a point"},
		{"no confidence", `{"kind": "memory_model", "version": 1, "terms": [], "points": []}`, "confidence: missing"},
		{"too sure", edit(`"confidence": 0.95`, `"confidence": 7`), "confidence 7: must be between 0.5 and 0.99"},
	} {
		if _, err := ReadModel(strings.NewReader(c.text), "m"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}

func FuzzReadModel(f *testing.F) {
	f.Add([]byte(`{"kind":"memory_model","version":1,"confidence":0.95,"terms":[],"points":[{"batch":1,"peak":1},{"batch":2,"peak":1},{"batch":3,"peak":9}]}`))
	f.Add([]byte(`{"batch":1,"seq":1e15,"layers":1e15,"hidden":1e15,"peak":1}` + "\n" + `{"batch":1e15,"seq":1,"layers":1,"hidden":1,"peak":1152921504606846976}` + "\n" + `{"batch":2,"seq":3,"layers":4,"hidden":5,"peak":6}`))
	f.Add([]byte(`{"rank":0,"peak":1}{"rank":0,"peak":1}{"rank":0,"peak":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ReadModel(bytes.NewReader(data), "m")
		if err != nil {
			return
		}
		for i := range m.Points {
			p, err := m.At(Place{Numbers: m.Points[i].Numbers, Words: m.Points[i].Words})
			if err == nil && (p.Low < 0 || p.Low > p.Peak || p.High < p.Peak) {
				t.Errorf("%+v", p)
			}
		}
	})
}
