package main

import (
	"fmt"

	"github.com/snapview/snapview/budget"
	"github.com/snapview/snapview/internal/units"
	"github.com/spf13/cobra"
)

func newBudgetEstimate() *cobra.Command {
	set := map[string]string{}
	cmd := &cobra.Command{
		Use:   "estimate [CONFIG…]",
		Short: "The memory of a training step, line by line, from its configuration",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := budget.DefaultConfig().With(set)
			if err != nil {
				return usagef("%w", err)
			}
			l, err := budget.Estimate(c)
			if err != nil {
				return usagef("%w", err)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), units.Bytes(l.PerGPU))
			return err
		},
	}
	cmd.Flags().StringToStringVar(&set, "set", nil, "change a `SETTING`, as in batch=8")
	return cmd
}
