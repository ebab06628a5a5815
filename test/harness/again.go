package harness

import "testing"

// attempts is how often [Again] tries. Each fails only where the machine is too slow at that very moment.
const attempts = 6

// Again makes attempts until the precondition of one holds from its beginning to its end. It is for
// preconditions that are a race against the machine: that requests hang for as long as a test takes its
// steps, or that two edits are made within one grace period. An attempt returns false where the machine was too
// slow for that, and must not assert anything before it knows that it was not.
//
// A test whose attempts all fail has shown nothing, and fails.
func Again(t testing.TB, attempt func() (held bool)) {
	t.Helper()
	for number := range attempts {
		if attempt() {
			return
		}
		t.Logf("attempt %d: the precondition did not hold to the end, so it shows nothing", number+1)
	}
	t.Fatalf("the precondition held in none of %d attempts: the machine is too slow for it, or the code under test delays the steps that it is to hold for", attempts)
}
