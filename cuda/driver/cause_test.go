package driver

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCauses(t *testing.T) {
	for _, c := range []struct {
		call string
		code Result
		want Cause
	}{
		{"cuEventQuery", 1, CauseCall},
		{"cuMemCreate", 2, CauseDeviceMemory},
		{"cuMemHostAlloc", 2, CauseHostMemory},
		{"cuMemHostRegister", 304, CauseHostMemory},
		{"cuMemAddressReserve", 2, CauseAddresses},
		{"cuModuleLoadData", 200, CauseImage},
		{"cuModuleLoadData", 209, CauseImage},
		{"cuModuleLoadData", 300, CauseImage},
		{"cuModuleGetFunction", 500, CauseCall},
		{"cuEventQuery", 46, CauseLoss},
		{"cuEventQuery", 101, CauseLoss},
		{"cuEventQuery", 201, CauseLoss},
		{"cuEventQuery", 304, CauseLoss},
		{"cuEventQuery", 709, CauseLoss},
		{"cuEventQuery", 802, CauseLoss},
		{"cuEventQuery", 999, CauseLoss},
		{"cuMemHostAlloc", 999, CauseLoss},
		{"cuMemAddressReserve", 999, CauseLoss},
		{"cuEventQuery", 12345, CauseLoss}, // a code of a later driver
	} {
		err := fmt.Errorf("upload: %w", &Error{Call: c.call, Code: c.code})
		assert.True(t, Of(err, c.want), "%s answers %d", c.call, c.code)
		assert.Equal(t, c.want == CauseLoss, Lost(err), "%s answers %d", c.call, c.code)
	}
	assert.False(t, Lost(errors.New("not the driver's")))
	assert.False(t, Lost(nil))
	for code := range sticky {
		assert.True(t, Lost(&Error{Call: "cuEventQuery", Code: code}), "%d", code)
	}
}
