package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/snapview/snapview/budget"
	"github.com/snapview/snapview/internal/units"
)

// JUnit XML as Jenkins, GitLab and others read it: the schema that Jenkins's
// xUnit plugin calls junit-10. Names of elements and attributes are theirs.
type junitSuites struct {
	XMLName xml.Name   `xml:"testsuites"`
	Name    string     `xml:"name,attr"`
	Suite   junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr"`
	Skipped *junitProblem `xml:"skipped"`
	Error   *junitProblem `xml:"error"`
	Failure *junitProblem `xml:"failure"`
	Out     string        `xml:"system-out,omitempty"`
}

type junitProblem struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

const junitName = "snapview check"

// writeCheckJUnit writes the report as one suite with a test for each gate, and
// one for each capture that could not be read.
func writeCheckJUnit(w io.Writer, a *checkAnswer) error {
	suite := junitSuite{Name: junitName, Time: "0"}
	for _, f := range a.Files {
		if f.Err != nil {
			message := errorLine(f.Err)
			suite.add(junitCase{Name: "read " + units.Safe(f.Name), Error: &junitProblem{message, "unreadable", message}})
		}
	}
	rows := a.words()
	for i := range a.Gates {
		suite.add(junitGate(&a.Gates[i], rows))
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(junitSuites{Name: junitName, Suite: suite}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *junitSuite) add(c junitCase) {
	c.Class, c.Time = junitName, "0"
	s.Cases = append(s.Cases, c)
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
}

// junitGate is the test of a gate; rows are those of all gates.
func junitGate(r *budget.GateResult, rows []checkWords) junitCase {
	var lines []string
	for i := range rows {
		if rows[i].result == r {
			lines = append(lines, junitLines(&rows[i])...)
		}
	}
	if r.Gate.Owner != "" {
		lines = append(lines, "owner: "+units.Safe(r.Gate.Owner))
	}
	if r.Gate.Note != "" {
		lines = append(lines, "note: "+units.Safe(r.Gate.Note))
	}
	text := strings.Join(lines, "\n")
	test := junitCase{Name: units.Safe(r.Gate.Name)}
	problem := &junitProblem{lines[0], r.Status.String(), text}
	switch r.Status {
	case budget.GateExceeded:
		test.Failure = problem
	case budget.GateUnjudged, budget.GateNoMatch:
		test.Error = problem
	case budget.GateSkipped:
		test.Skipped = problem
	default:
		test.Out = text
	}
	return test
}

// junitLines are a row in words and the lines of code behind it.
func junitLines(w *checkWords) []string {
	text := units.Safe(w.gate)
	if w.capture != "" {
		text += fmt.Sprintf(" (%s device %s)", units.Safe(w.capture), w.device)
	}
	if w.value != "" {
		text += ": " + units.Safe(w.value)
	}
	if w.limit != "" {
		text += ", allowed " + units.Safe(w.withRule())
	}
	if w.was != "" {
		text += ", was " + w.was
	}
	if w.margin != "" {
		text += ": " + w.withRatio()
	}
	if why := w.explanation(); why != "" {
		text += ": " + units.Safe(why)
	}
	lines := []string{text}
	if w.check == nil {
		return lines
	}
	for i := range w.check.Lines {
		l := &w.check.Lines[i]
		lines = append(lines, "  "+lineAmount(l)+" "+l.String()+lineText(l))
	}
	return lines
}
