package units

// AtLeastMiB rounds a bound up to whole MiB and prints it in them: what is "1028
// MiB or more" must not read as "1.00 GiB or more".
func AtLeastMiB(n int64) string {
	const mib = 1 << 20
	if n < mib {
		return Exact(n)
	}
	return Count(int((n-1)/mib+1)) + " MiB"
}
