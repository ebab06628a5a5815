package record

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/cespare/xxhash/v2"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// KeyedScheme names the way in which checksums are computed, including the rules of
// [template.ReferencesOf]. A recorded checksum covers all keys that the workload sees of the config, by
// whichever references. So if a version selects other keys of a config that a record already has,
// the checksum changes, and the workload would restart at the upgrade. A new kind of reference does this
// wherever it selects further keys of a config that the workload also references in another way.
//
// To avoid that, add a scheme for the templates in which it does, and let the references of the former one say what its
// records cover: they are then compared by that, like records that were made by another [template.Filter]. Records of a scheme that
// is not known are not trusted, and the pods decide about all configs.
const KeyedScheme = "keyed-v2"

// Checksums hold what a workload's pods run with: the checksum of each config. For configs of which each
// pod has its own content, there is a time in place of a checksum; see [content.CSIClassMounts].
type Checksums map[names.ConfigRef]names.Checksum

// Public returns the checksums of configs that are not secret.
func (c Checksums) Public() Checksums {
	public := maps.Clone(c)
	maps.DeleteFunc(public, func(ref names.ConfigRef, _ names.Checksum) bool { return ref.Kind.IsKeyed() })
	return public
}

// Equal reports whether both hold the same checksums of the same configs.
func (c Checksums) Equal(other Checksums) bool { return maps.Equal(c, other) }

// keptFor returns the checksums of the configs that are referenced, under the names that the
// references hold, and whether there are others.
func (c Checksums) keptFor(references []template.Reference) (kept Checksums, others bool) {
	if c == nil {
		return nil, false
	}
	kept = make(Checksums, min(len(c), len(references)))
	for ofOne := range names.Runs(references, template.OfOneConfig) {
		if checksum, found := c[ofOne[0].Config]; found {
			kept[ofOne[0].Config] = checksum
		}
	}
	return kept, len(kept) < len(c)
}

// checksumOf returns the checksum of the text of an annotation.
func checksumOf(annotation string) names.Checksum {
	return names.Checksum(xxhash.Sum64String(annotation))
}

// problemOf describes what is wrong with checksums. Another scheme may use other checksums.
func problemOf(encoded string, isKnown bool) string {
	if !isKnown {
		return malformed(encoded)
	}
	if _, err := ParseChecksums(encoded); err != nil {
		return err.Error()
	}
	return ""
}

// malformed describes what is wrong with checksums, whatever their scheme.
func malformed(encoded string) string {
	if _, err := checksumTexts(encoded); err != nil {
		return err.Error()
	}
	return ""
}

// checksumTexts reads the entries of checksums. The library's errors name types of the program.
func checksumTexts(encoded string) (entries map[string]string, err error) {
	if err := json.Unmarshal([]byte(encoded), &entries); err != nil {
		return nil, fmt.Errorf("parse %s: not a JSON object of strings", annotation.ChecksumsAnnotation)
	}
	return entries, nil
}

// ParseChecksums reads the checksums of an annotation that [Checksums.Annotations] wrote. It returns an error if any entry is
// not of that form.
func ParseChecksums(encoded string) (Checksums, error) {
	entries, err := checksumTexts(encoded)
	if err != nil {
		return nil, err
	}
	checksums := make(Checksums, len(entries))
	for name, digits := range entries {
		ref, ok := names.ParseConfigRef(name)
		if !ok {
			return nil, fmt.Errorf("parse %s: %.100q names no config", annotation.ChecksumsAnnotation, name)
		}
		checksum, err := names.ParseChecksum(digits)
		if err != nil {
			return nil, fmt.Errorf("parse %s: %.100s: %w", annotation.ChecksumsAnnotation, ref, err)
		}
		checksums[ref] = checksum
	}
	return checksums, nil
}
