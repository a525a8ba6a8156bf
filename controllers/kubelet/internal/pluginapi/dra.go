package pluginapi

// The messages of dra v1 and v1beta1, which are the same, and of dra-health v1alpha1.

// The services of drivers of dynamic resources, the newest first, whose methods are in DRAPackage, and that
// of the health of devices.
const (
	DRAPackage        = "k8s.io.kubelet.pkg.apis.dra."
	DRAService        = "v1.DRAPlugin"
	DRAServiceBeta    = "v1beta1.DRAPlugin"
	DRAHealthService  = "v1alpha1.DRAResourceHealth"
	draHealthyStatus  = 1
	draUnhealthStatus = 2
)

// DRAClaims names claims to be prepared or unprepared.
type DRAClaims struct {
	Claims []DRAClaim `protobuf:"bytes,1,rep,name=claims"`
}

// DRAClaim names a ResourceClaim.
type DRAClaim struct {
	Namespace string `protobuf:"bytes,1,opt,name=namespace"`
	UID       string `protobuf:"bytes,2,opt,name=uid"`
	Name      string `protobuf:"bytes,3,opt,name=name"`
}

// DRAPrepared has what was prepared, by the UID of the claim.
type DRAPrepared struct {
	Claims map[string]DRAPreparedClaim `protobuf:"bytes,1,rep,name=claims"`
}

// DRAPreparedClaim are the devices of a claim, or why it was not prepared.
type DRAPreparedClaim struct {
	Devices []DRADevice `protobuf:"bytes,1,rep,name=devices"`
	Error   string      `protobuf:"bytes,2,opt,name=error"`
}

// DRADevice is a device that was prepared. Without Requests it belongs to all requests of its claim.
type DRADevice struct {
	Requests []string `json:"requests,omitempty" protobuf:"bytes,1,rep,name=request_names"`
	Pool     string   `json:"pool" protobuf:"bytes,2,opt,name=pool_name"`
	Device   string   `json:"device" protobuf:"bytes,3,opt,name=device_name"`
	CDI      []string `json:"cdi,omitempty" protobuf:"bytes,4,rep,name=cdi_device_ids"`
	Share    *string  `json:"share,omitempty" protobuf:"bytes,5,opt,name=share_id"`
}

// DRAUnprepared says of each claim, by its UID, why it was not unprepared; empty if it was.
type DRAUnprepared struct {
	Claims map[string]DRAFailure `protobuf:"bytes,1,rep,name=claims"`
}

// DRAFailure is an error; empty means success.
type DRAFailure struct {
	Error string `protobuf:"bytes,1,opt,name=error"`
}

// DRAHealth is the health of devices of a driver.
type DRAHealth struct {
	Devices []DRADeviceHealth `protobuf:"bytes,1,rep,name=devices"`
}

// DRADeviceHealth is the health of one device. Updated is a time in Unix seconds. Timeout is after how many
// seconds without news the health is unknown; 0 means 30.
type DRADeviceHealth struct {
	Device  *DRADeviceName `protobuf:"bytes,1,opt,name=device"`
	Health  int32          `protobuf:"varint,2,opt,name=health"`
	Updated int64          `protobuf:"varint,3,opt,name=last_updated_time"`
	Timeout int64          `protobuf:"varint,4,opt,name=health_check_timeout_seconds"`
	Message string         `protobuf:"bytes,5,opt,name=message"`
}

// DRADeviceName names a device of a driver.
type DRADeviceName struct {
	Pool   string `protobuf:"bytes,1,opt,name=pool_name"`
	Device string `protobuf:"bytes,2,opt,name=device_name"`
}

// Status is the health as the status of a container has it.
func (h *DRADeviceHealth) Status() string {
	switch h.Health {
	case draHealthyStatus:
		return Healthy
	case draUnhealthStatus:
		return "Unhealthy"
	}
	return "Unknown"
}

// SetStatus is the reverse of Status.
func (h *DRADeviceHealth) SetStatus(s string) {
	h.Health = map[string]int32{Healthy: draHealthyStatus, "Unhealthy": draUnhealthStatus}[s]
}

// DynamicResource are the devices of a claim that a container has, for the API of pod resources.
type DynamicResource struct {
	Claim     string          `protobuf:"bytes,2,opt,name=claim_name"`
	Namespace string          `protobuf:"bytes,3,opt,name=claim_namespace"`
	Resources []ClaimResource `protobuf:"bytes,4,rep,name=claim_resources"`
}

// ClaimResource is a device of a claim.
type ClaimResource struct {
	CDI    []CDIDevice `protobuf:"bytes,1,rep,name=cdi_devices"`
	Driver string      `protobuf:"bytes,2,opt,name=driver_name"`
	Pool   string      `protobuf:"bytes,3,opt,name=pool_name"`
	Device string      `protobuf:"bytes,4,opt,name=device_name"`
	Share  *string     `protobuf:"bytes,5,opt,name=share_id"`
}
