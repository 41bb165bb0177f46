// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IDepository} from "../../src/IDepository.sol";
import {HookToken, ITransferHook} from "../tokens/HookToken.sol";

/// @notice Deposits, and sends the receiver an additional amount in the token's hook.
contract ExtraSender is ITransferHook {
    HookToken private immutable _token;
    uint256 private _extra;

    constructor(HookToken token) {
        _token = token;
        token.setHook(address(this), this);
    }

    function deposit(IDepository depository, bytes32 id, address receiver, uint256 amount, uint256 extra) external {
        _token.approve(address(depository), amount);
        _extra = extra;
        depository.depositERC20(id, address(_token), receiver, amount);
    }

    function onTransfer(address from, address to, uint256) external {
        uint256 extra = _extra;
        if (from != address(this) || extra == 0) return;
        _extra = 0;
        require(_token.transfer(to, extra), "extra refused");
    }
}
