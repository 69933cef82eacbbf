package budget

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// sections are the mappings that settings may stand in; they mean nothing.
var sections = []string{"model", "training", "work", "optimizer", "parallel", "lora"}

// ParseConfig reads a configuration in YAML or JSON: settings by their names, flat
// or in sections, or a config.json of Hugging Face, which describes the model.
// Errors say the line.
func ParseConfig(name string, data []byte) (Config, error) {
	return DefaultConfig().Read(name, data)
}

// Read changes c by what a file says, as ParseConfig reads it.
func (c Config) Read(name string, data []byte) (Config, error) {
	n, err := parseFile(name, data)
	if err != nil {
		return c, err
	}
	f, err := n.fields("a configuration")
	if err != nil {
		return c, err
	}
	if isHF(f) {
		c.Model, err = readHF(f)
		if err == nil {
			err = c.Model.checkIn(f)
		}
		return c, err
	}
	if err := f.flatten(); err != nil {
		return c, err
	}
	var names []string
	for key := range f.values {
		names = append(names, key)
	}
	seen := map[string]string{}
	for _, key := range ordered(names) {
		if s, ok := setting(key); ok {
			if first, twice := seen[s.Name]; twice {
				f.fail(f.values[key].errorf("%s: the same as %s on line %d", quoteKey(key), quoteKey(first), f.values[first].yaml.Line))
			}
			seen[s.Name] = key
		}
		value, err := f.values[key].text()
		if err != nil {
			f.fail(underKey(key, err))
			continue
		}
		if err := c.set(key, value); err != nil {
			f.fail(f.values[key].errorf("%w", err))
		}
	}
	if f.err != nil {
		return c, f.err
	}
	return c, c.checkIn(f)
}

// flatten takes the settings out of sections.
func (f *fields) flatten() error {
	for _, key := range f.keys {
		name := key.yaml.Value
		v := f.values[name]
		if !slices.Contains(sections, name) || v.yaml.Kind != yaml.MappingNode {
			continue
		}
		inner, err := v.fields("the section " + name)
		if err != nil {
			return err
		}
		delete(f.values, name)
		for _, k := range inner.keys {
			if first, twice := f.values[k.yaml.Value]; twice {
				return k.errorf("%s: given twice, first on line %d", quoteKey(k.yaml.Value), first.yaml.Line)
			}
			f.values[k.yaml.Value] = inner.values[k.yaml.Value]
		}
	}
	return nil
}

// checkIn says on which line something impossible is, when the file is to blame:
// what it leaves out may come from elsewhere.
func (c *Config) checkIn(f *fields) error { return withLine(c.problems(), f) }

// checkIn checks the model of a config.json.
func (m *Model) checkIn(f *fields) error {
	c := DefaultConfig()
	c.Model, c.Batch, c.Seq = *m, 1, 1
	return withLine(c.problems(), f)
}

// withLine returns the first problem whose setting the file has, with its line.
func withLine(problems []error, f *fields) error {
	for _, err := range problems {
		name, _, _ := strings.Cut(err.Error(), ":")
		for key, n := range f.values {
			if s, ok := setting(key); ok && s.Name == name {
				return n.errorf("%w", err)
			}
		}
	}
	return nil
}

// parseShare reads a probability.
func parseShare(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0 && v < 1) {
		return 0, fmt.Errorf("%s is not a probability from 0 to below 1", quote(text))
	}
	return v, nil
}
