package optin

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

// Note says which rules apply, and since when.
type Note struct {
	ByNamespace bool      `json:"byNamespace,omitempty"`
	ByDefault   bool      `json:"byDefault,omitempty"`
	Named       []string  `json:"named,omitempty"`
	Selector    string    `json:"selector,omitempty"`
	Ignored     []string  `json:"ignored,omitempty"`
	Dialects    []Dialect `json:"dialects,omitempty"`
	Since       time.Time `json:"since"`
}

// Note returns the note that says that the rules have applied since the given time.
func (r *Rules) Note(since time.Time) Note {
	n := Note{
		ByNamespace: r.ByNamespace || r.ByDefault, ByDefault: r.ByDefault, Ignored: r.Ignored, Dialects: r.Dialects,
		Since: since.UTC().Truncate(time.Second),
	}
	for _, name := range r.Named {
		if r.ByDefault && isOfKubernetes(name) { // the others make no difference
			n.Named = append(n.Named, name)
		}
	}
	if r.Selector != nil {
		n.Selector = r.Selector.String()
	}
	return n
}

// Rules returns the rules that the note is about. The error says that the selector cannot be read.
func (n *Note) Rules() (Rules, error) {
	r := Rules{ByNamespace: n.ByNamespace, ByDefault: n.ByDefault, Named: n.Named, Ignored: n.Ignored, Dialects: n.Dialects}
	if n.Selector == "" {
		return r, nil
	}
	selector, err := labels.Parse(n.Selector)
	if err != nil {
		return Rules{}, fmt.Errorf("read selector of namespaces: %w", err)
	}
	r.Selector = selector
	return r, nil
}

// IsAbout reports whether the note is about these rules.
func (n *Note) IsAbout(r *Rules) bool {
	other := r.Note(n.Since)
	return n.ByNamespace == other.ByNamespace && n.ByDefault == other.ByDefault && n.Selector == other.Selector &&
		slices.Equal(n.Ignored, other.Ignored) && slices.Equal(n.Named, other.Named) && slices.Equal(n.Dialects, other.Dialects)
}

// ReadOptInNotes returns the notes in a value of [annotation.OptInsAnnotation] by the [NamespaceSet] that they are about, none
// if it cannot be read.
func ReadOptInNotes(annotation string) map[string]Note {
	notes := make(map[string]Note)
	if json.Unmarshal([]byte(annotation), &notes) != nil {
		return make(map[string]Note)
	}
	return notes
}

// everyNamespace is the set of all namespaces.
const everyNamespace = "*"

// longestSet is how many bytes the names of a set may have until a hash stands for them.
const longestSet = 1000

// NamespaceSet names a set of namespaces, which are sorted; no namespaces stand for all.
func NamespaceSet(namespaces []string) string {
	if len(namespaces) == 0 {
		return everyNamespace
	}
	set := strings.Join(namespaces, ",")
	if len(set) > longestSet {
		return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(set)))
	}
	return set
}

// IsInSet reports whether a namespace is in a [NamespaceSet], as far as its name shows.
func IsInSet(namespace, set string) bool {
	return set == everyNamespace || slices.Contains(strings.Split(set, ","), namespace)
}
