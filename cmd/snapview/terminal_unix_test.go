//go:build unix

package main

import (
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

func init() { programs["onterm"] = onTerminal }

// onTerminal runs a command with the terminal of the script (see ttyin) as its
// stdout or its stderr. The terminal has 80 columns.
func onTerminal() {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		panic(err)
	}
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		panic(err)
	}
	cmd := exec.Command(os.Args[2], os.Args[3:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if os.Args[1] == "stdout" {
		cmd.Stdout = tty
	} else {
		cmd.Stderr = tty
	}
	if err := cmd.Run(); err != nil {
		os.Exit(cmd.ProcessState.ExitCode())
	}
}
