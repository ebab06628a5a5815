package catalogtest

import (
	"time"

	"kubernetes-deployment-restart-controller/catalog/policy"
)

var Usual = policy.Spacing{Grace: 5 * time.Second, Limit: 10 * time.Minute}
