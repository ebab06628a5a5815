package objecttest

import "kubernetes-deployment-restart-controller/catalog/names"

func AllConfigs(names.ConfigRef) bool { return true }
