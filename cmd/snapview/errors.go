package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/snapview/snapview/internal/input"
	"github.com/snapview/snapview/internal/units"
)

// Exit codes. A gate has its own, so that CI can tell "too big" from "broken".
const (
	exitOK     = 0 // fine
	exitFailed = 1 // unreadable or bad input, or the output could not be written
	exitUsage  = 2 // wrong command line, or a device or moment that the file does not have
	exitGate   = 3 // a gate failed: the input was read and exceeds what was allowed
)

// A codedError is an error that knows its exit code; others exit with exitFailed.
type codedError struct {
	code int
	err  error
}

func (e codedError) Error() string { return e.err.Error() }
func (e codedError) Unwrap() error { return e.err }

// usagef returns an error about the command line.
func usagef(format string, args ...any) error {
	return codedError{exitUsage, fmt.Errorf(format, args...)}
}

// exitCode maps an error to the exit code, in this one place.
func exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	if coded, ok := errors.AsType[codedError](err); ok {
		return coded.code
	}
	return exitFailed
}

// errorLine puts an error on one line that is safe to print: messages quote
// names and text out of files.
func errorLine(err error) string {
	return units.Safe(strings.Join(strings.Fields(err.Error()), " "))
}

// inFile puts the file's name before an error about it, unless it is there, with
// a line or without.
func inFile(name string, err error) error {
	name = displayName(name)
	for _, shown := range []string{name, units.Safe(name)} {
		if rest, ok := strings.CutPrefix(err.Error(), shown+":"); ok && rest != "" && strings.ContainsRune(" 0123456789", rune(rest[0])) {
			return err
		}
	}
	return fmt.Errorf("%s: %w", name, err)
}

// displayName is how a file is called in messages.
func displayName(name string) string {
	if name == "-" {
		return input.StandardInput
	}
	return name
}
