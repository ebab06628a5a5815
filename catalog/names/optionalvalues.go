package names

// AreEqual reports whether both values are the same, or both are missing.
func AreEqual[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// UnlessZero returns nil for the zero value, which is that of nearly all objects.
func UnlessZero[P comparable](policy P) *P {
	var zero P
	if policy == zero {
		return nil
	}
	return &policy
}
