// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {HookToken, ITransferHook} from "../tokens/HookToken.sol";

/// @notice Sends one unit of each received token to another account.
contract GiverBack is ITransferHook {
    address private immutable _to;

    constructor(address to) {
        _to = to;
    }

    function onTransfer(address, address to, uint256) external {
        if (to == address(this)) require(HookToken(msg.sender).transfer(_to, 1), "refused");
    }
}
