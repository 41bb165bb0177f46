// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

interface ITransferHook {
    function onTransfer(address from, address to, uint256 amount) external;
}

/// @notice Calls the sender before a transfer and the recipient after it, like ERC-777.
contract HookToken is ERC20 {
    mapping(address account => ITransferHook hook) public hooks;

    constructor() ERC20("Hook", "HOOK") {}

    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }

    function burn(address from, uint256 amount) external {
        _burn(from, amount);
    }

    function setHook(address account, ITransferHook hook) external {
        hooks[account] = hook;
    }

    function _update(address from, address to, uint256 value) internal override {
        _tell(from, from, to, value);
        super._update(from, to, value);
        _tell(to, from, to, value);
    }

    function _tell(address account, address from, address to, uint256 value) private {
        ITransferHook hook = hooks[account];
        if (address(hook) != address(0)) hook.onTransfer(from, to, value);
    }
}
