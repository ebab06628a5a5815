package catalogtest

import (
	"fmt"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
)

// ManyChecksums returns n checksums of configs that are not referenced.
func ManyChecksums(n int) record.Checksums {
	checksums := record.Checksums{}
	for i := range n {
		checksums[objecttest.ConfigMapRef(fmt.Sprint("other-", i))] = names.Checksum(i)
	}
	return checksums
}
