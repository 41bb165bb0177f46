// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ITransferHook} from "../tokens/HookToken.sol";

/// @notice Calls back during its payment, stores the result and does not revert.
contract Reenterer is ITransferHook {
    address private _target;
    bytes private _data;
    uint256 private _value;

    bool public tried;
    bool public succeeded;
    bytes4 public errorSelector;

    function plan(address target, bytes calldata data, uint256 value) external {
        (_target, _data, _value) = (target, data, value);
    }

    receive() external payable {
        _callBack();
    }

    function onTransfer(address, address, uint256) external {
        _callBack();
    }

    function _callBack() private {
        if (tried || _target == address(0)) return;
        tried = true;
        bytes memory result;
        (succeeded, result) = _target.call{value: _value}(_data);
        // forge-lint: disable-next-line(unsafe-typecast)
        if (!succeeded && result.length >= 4) errorSelector = bytes4(result);
    }
}
