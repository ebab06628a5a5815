package overview

import (
	"regexp"

	"k8s.io/cli-runtime/pkg/printers"

	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

// The reasons of a table, which has a line for each workload.

const (
	// shortWhy is how many characters the parts of a reason have in a table, but for the first part.
	shortWhy = 100
	// longestWhy is how many the first part has.
	longestWhy = 160
)

// refusals are what the API server says of requests that it refuses, and what counts of that in the row of a workload.
var refusals = []struct {
	said   *regexp.Regexp
	counts string
}{
	{regexp.MustCompile(`(?:patch|get|list|create) \S+ .*?is forbidden: User "[^"]*" (cannot [a-z]+) resource "([^"]*)"( in API group "[^"]*")?( in the namespace "[^"]*")?`), `forbidden: it $1 $2`},
	{regexp.MustCompile(`(?:patch|get|list|create) \S+ .*?is forbidden: ValidatingAdmissionPolicy ('[^']*') with binding '[^']*' denied request`), `policy $1 denies it`},
	{regexp.MustCompile(`(?:patch|get|list|create) \S+ .*?admission webhook ("[^"]*") denied the request`), `webhook $1 denies it`},
	{regexp.MustCompile(`(?:patch|get|list|create) \S+ .*?failed calling webhook ("[^"]*"): (?:failed to call webhook: )?(?:Post "[^"]*": )?`), `webhook $1 cannot be called: `},
}

// short returns what counts of a reason, in a table. Of what is too long it leaves out the middle:
// errors begin with what failed, and end with why.
func short(s string, options printers.PrintOptions) string {
	if options.Wide {
		return s
	}
	for _, r := range refusals {
		s = r.said.ReplaceAllString(s, r.counts)
	}
	return text.Middle(s, longestWhy)
}
