package budget

// ParseConfig reads a configuration in YAML or JSON.
func ParseConfig(name string, data []byte) (Config, error) {
	return DefaultConfig().Read(name, data)
}

// Read changes c by a file, see ParseConfig.
func (c Config) Read(name string, data []byte) (Config, error) {
	n, err := parseFile(name, data)
	if err != nil {
		return c, err
	}
	f, err := n.fields("a configuration")
	if err != nil {
		return c, err
	}
	var names []string
	for key := range f.values {
		names = append(names, key)
	}
	for _, key := range ordered(names) {
		value, err := f.values[key].text()
		if err != nil {
			f.fail(underKey(key, err))
			continue
		}
		if err := c.set(key, value); err != nil {
			f.fail(f.values[key].errorf("%w", err))
		}
	}
	return c, f.err
}
