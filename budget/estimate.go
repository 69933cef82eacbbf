package budget

import "github.com/snapview/snapview/attribution"

// Estimate works out the ledger of a training step.
func Estimate(c Config) (Ledger, error) {
	if err := c.Check(); err != nil {
		return Ledger{}, err
	}
	l := Ledger{Config: c, Params: c.Model.ParamCount(), Totals: Totals{}}
	n, p := l.Params, c.policy()
	l.add(ParameterClass, attribution.Parameter, "weights", p.weight.bytesOf(n))
	if p.master != "" {
		l.add(MasterClass, attribution.OptimizerState, "master weights", p.master.bytesOf(n))
	}
	l.add(GradientClass, attribution.Gradient, "gradients", p.grad.bytesOf(n))
	l.add(OptimizerClass, attribution.OptimizerState, "moments", 2*n*4)
	l.PerGPU = l.Totals.Sum()
	l.Total = l.PerGPU
	return l, nil
}

func (l *Ledger) add(class Class, category attribution.Category, name string, bytes int64) {
	l.Lines = append(l.Lines, Line{Class: class, Category: category, Name: name, Bytes: bytes, AtPeak: bytes})
	l.Totals[class] += bytes
}
