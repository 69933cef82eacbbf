package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// A versionInfo says which snapview this is.
type versionInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // of the source, when built inside its repository
	Modified bool   `json:"modified,omitempty"` // built from a changed work tree
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// unversioned is what the go command calls a build that is no release.
const unversioned = "(devel)"

// currentVersion reads what the go command recorded in the binary.
func currentVersion() versionInfo {
	v := versionInfo{Version: unversioned, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if build.Main.Version != "" {
		v.Version = build.Main.Version
	}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func (v versionInfo) String() string {
	version := v.Version
	if v.Version == unversioned && v.Revision != "" {
		version += " " + v.Revision[:min(len(v.Revision), 12)]
	}
	return fmt.Sprintf("snapview %s %s %s", version, v.Go, v.Platform)
}

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  snapview version --json",
		Args:    noFiles,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), currentVersion())
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), currentVersion())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
