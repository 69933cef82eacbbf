package main

import "github.com/spf13/cobra"

func newBudget() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "budget COMMAND",
		Short: "Predict memory before training, and compare with what was measured",
		Long: `Predicts the memory of a training run from its configuration, with the arithmetic
shown, or from runs that were measured.`,
		Example: `  snapview budget estimate --model gpt2 --batch 8 --seq 1024`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usagef("%s needs a command; see %[1]s --help", cmd.CommandPath())
		},
	}
	cmd.AddCommand(newBudgetEstimate(), newBudgetReconcile(), newBudgetFit(), newBudgetPredict(), newBudgetMaxBatch(), newBudgetCurve(), newBudgetCollect(), newBudgetPlan())
	return cmd
}
