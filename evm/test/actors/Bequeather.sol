// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice Sends native value by destroying itself: the recipient is not called and cannot refuse.
contract Bequeather {
    function give(address heir) external payable {
        bytes memory destroyItself = bytes.concat(hex"73", bytes20(heir), hex"ff");
        assembly {
            pop(create(callvalue(), add(destroyItself, 32), mload(destroyItself)))
        }
    }
}
